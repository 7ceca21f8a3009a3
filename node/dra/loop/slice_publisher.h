// Publishes the node's ResourceSlice.
//
// Used by the deciding thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/api/driver_api.h"
#include "node/dra/api/requests.h"
#include "node/dra/loop/repeat_limit.h"
#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace dra {

class SlicePublisher {
 public:
  using TimePoint = base::Clock::TimePoint;

  // `is_superseded` returns whether another instance of the plugin publishes instead.
  SlicePublisher(const base::Clock& clock, base::Logger& logger,
                 std::function<bool()> is_superseded)
      : clock_(clock), logger_(logger), is_superseded_(std::move(is_superseded)) {}

  // Writes `wanted` if the server has another slice. Returns when to call it again if nothing
  // changes. `trouble` says why its devices are tainted, for the log.
  TimePoint Turn(DriverApi& api, const ResourceSlice& wanted, const std::string& trouble);

 private:
  // Returns whether the server has the slice that was written last, and no other. If the server
  // cannot hold that slice, whether it has none.
  bool IsThere(const std::vector<kube::ObjectMeta>& found, TimePoint now);
  void Write(DriverApi& api, const ResourceSlice& slice, std::string text,
             std::vector<kube::ObjectMeta> found);

  const base::Clock& clock_;
  base::Logger& logger_;
  const std::function<bool()> is_superseded_;
  bool writing_ = false;
  TimePoint next_ = {};
  base::Backoff backoff_;
  std::string said_ = {};
  std::string trouble_ = {};
  std::string text_ = {};  // Text of the slice that was written last.
  SliceWritten written_ = {};
  TimePoint written_at_ = {};
  // Limit for rewrites of a slice that another client changed or deleted. The first is immediate,
  // because a kubelet that restarts deletes the slices of its node.
  RepeatLimit rewrites_{{.first = std::chrono::seconds(5), .most = std::chrono::minutes(5)}};
  bool was_seen_ = false;  // The watch has shown the slice since the write.
};

}  // namespace dra
