// What every process of the simulation is given: time, randomness, a log, and who answers it.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/testing/fakes.h"
#include "test/simulation/object_store.h"

namespace simulation {

// The store's time, as the product's Clock.
class StoreClock final : public base::Clock {
 public:
  explicit StoreClock(const ObjectStore& store) : StoreClock(store, store.now()) {}
  StoreClock(const ObjectStore& store, WallTime start) : store_(store), start_(start) {}
  [[nodiscard]] TimePoint Now() const override {
    return TimePoint(std::chrono::hours(1)) + (store_.now() - start_);
  }
  [[nodiscard]] WallTime Wall() const override { return store_.now(); }
  [[nodiscard]] WallTime ToWall(TimePoint time) const {
    return store_.now() + std::chrono::ceil<std::chrono::microseconds>(time - Now());
  }

 private:
  const ObjectStore& store_;
  const WallTime start_;
};

using kube::SeededRandom;

// Keeps the last lines, for the report of a failure.
class RingLogger final : public base::Logger {
 public:
  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override;
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

// What becomes of a request on its way. The default serves it. It may throw ProcessDied, after
// which the process that sent it must be destroyed.
using Serve = std::function<base::Result<http::Response>(const http::Request& request)>;

struct ProcessDied {};

}  // namespace simulation
