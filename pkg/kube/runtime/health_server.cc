#include "pkg/kube/runtime/health_server.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <string_view>
#include <utility>

namespace kube {
namespace {

using http::ServerReply;
using http::ServerRequest;

bool IsAt(const std::string& path, const std::string& endpoint) {
  const std::string prefix = "/" + endpoint;
  return path == prefix || path.starts_with(prefix + "/");
}

}  // namespace

HealthServer::HealthServer(HealthOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      server_([this](const ServerRequest& request) { return Answer(request); }, clock) {}

base::Result<int> HealthServer::Start(const std::string& address) { return server_.Start(address); }

http::Server::Answer HealthServer::Answer(const ServerRequest& request) const {
  for (const char* endpoint : {"livez", "healthz"}) {
    if (IsAt(request.path, endpoint)) return AnswerHealth(endpoint, options_.live, request);
  }
  if (IsAt(request.path, "readyz")) return AnswerHealth("readyz", options_.ready, request);
  if (request.path == options_.metrics_path && !options_.metrics.empty()) {
    return [this] { return Metrics(); };
  }
  if (const auto page = options_.pages.find(request.path); page != options_.pages.end()) {
    return [&make = page->second] {
      return ServerReply{.body = make(), .content_type = "application/json"};
    };
  }
  constexpr int kNoSuchPage = 404;
  return ServerReply{.status = kNoSuchPage, .body = "not found\n"};
}

ServerReply HealthServer::Metrics() const {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : options_.metrics) {
    for (prometheus::MetricFamily& family : collectable->Collect()) {
      families.push_back(std::move(family));
    }
  }
  return {.body = prometheus::TextSerializer().Serialize(families),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace kube
