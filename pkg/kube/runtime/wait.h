#pragma once

#include <stop_token>

#include "pkg/base/clock.h"

namespace kube {

// Blocks until `until` has come by `clock`, or `stop` is requested.
void WaitUntil(const base::Clock& clock, base::Clock::TimePoint until, const std::stop_token& stop);

}  // namespace kube
