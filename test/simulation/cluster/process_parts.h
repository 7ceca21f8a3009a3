// Parts of each simulated process: clock, random numbers, log, requests.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/testing/fakes.h"
#include "test/simulation/apiserver/object_store.h"
#include "test/simulation/apiserver/watch_stream.h"

namespace simulation {

// Error of a host's clock: how far ahead it starts, and how much too fast it is.
struct Skew {
  std::chrono::milliseconds ahead{0};
  int per_million = 0;
};

// The store's time with a host's error, as the product's Clock.
class StoreClock final : public base::Clock {
 public:
  explicit StoreClock(const ObjectStore& store, Skew skew = {})
      : StoreClock(store, store.now(), skew) {}
  StoreClock(const ObjectStore& store, WallTime start, Skew skew = {})
      : store_(store), start_(start), skew_(skew) {}
  TimePoint Now() const override { return TimePoint(std::chrono::hours(1)) + Elapsed(); }
  WallTime Wall() const override { return start_ + skew_.ahead + Elapsed(); }
  Time StoreTime() const { return store_.now(); }
  // Returns the time of the store at which Now() will be `time`.
  Time ToWall(TimePoint time) const {
    const auto rest = std::chrono::ceil<std::chrono::microseconds>(time - Now());
    if (skew_.per_million == 0) return store_.now() + rest;
    const auto of_store = rest * 1'000'000 / (1'000'000 + skew_.per_million);
    return store_.now() + of_store + std::chrono::microseconds(2);  // Both roundings.
  }

 private:
  std::chrono::microseconds Elapsed() const {
    const std::chrono::microseconds of_store = store_.now() - start_;
    return of_store + of_store * skew_.per_million / 1'000'000;
  }

  const ObjectStore& store_;
  const Time start_;
  const Skew skew_;
};

using kube::SeededRandom;

// Keeps the last lines, to report a failure.
class RingLogger final : public base::Logger {
 public:
  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override;
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

// Handles a request; the default sends it to the server. May throw ProcessDied. Then the process
// that sent the request must be destroyed.
using Serve = std::function<base::Result<http::Response>(const http::Request& request)>;

// The same for the opening of a watch.
using OpenWatch = std::function<base::Result<WatchStream>(const http::Request& request)>;

struct ProcessDied {};

}  // namespace simulation
