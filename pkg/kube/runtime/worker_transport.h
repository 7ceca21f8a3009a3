// The way of all workers to the API server: a pool of transports, and LISTs that workers share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/http/transport_pool.h"
#include "pkg/kube/runtime/shared_lists.h"

namespace kube {

// Thread-safe. Bounds: those of http::TransportPool and SharedLists.
class WorkerTransport {
 public:
  using Answers = SharedLists::Answers;

  // As for http::TransportPool.
  WorkerTransport(std::function<std::unique_ptr<http::Transport>()> make, int most,
                  const base::Clock& clock)
      : pool_(std::move(make), most, clock), lists_(clock, kPatience, kGap) {}

  // Sends the requests of one worker, writes too, and returns a reply for each. This object
  // outlives the answers.
  Answers SendAll(const std::vector<http::Request>& requests) {
    return lists_.SendAll(requests, pool_);
  }
  void CloseIdle() { pool_.CloseIdle(); }

 private:
  static constexpr std::chrono::seconds kPatience{1};
  static constexpr std::chrono::milliseconds kGap{200};

  http::TransportPool pool_;
  SharedLists lists_;
};

}  // namespace kube
