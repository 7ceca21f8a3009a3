// Builds the metrics page.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <vector>

#include "pkg/http/server.h"

namespace kube {

using Collectables = std::vector<std::shared_ptr<const prometheus::Collectable>>;

// Collects the metrics now, and returns them in this order in Prometheus' text format.
http::ServerReply MetricsPage(const Collectables& metrics);

}  // namespace kube
