#include "pkg/kube/runtime/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>

namespace kube {

http::ServerReply MetricsPage(const Collectables& metrics) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : metrics) {
    for (prometheus::MetricFamily& family : collectable->Collect()) {
      families.push_back(std::move(family));
    }
  }
  return {.body = prometheus::TextSerializer().Serialize(families),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace kube
