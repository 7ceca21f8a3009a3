#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <vector>

#include "pkg/http/server.h"

namespace kube {

using Collectables = std::vector<std::shared_ptr<const prometheus::Collectable>>;

// What these collect now, in their order, as Prometheus' text.
[[nodiscard]] http::ServerReply MetricsPage(const Collectables& metrics);

}  // namespace kube
