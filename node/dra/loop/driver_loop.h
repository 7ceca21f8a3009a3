// A driver's loop, as its process runs it.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "node/dra/loop/metrics.h"
#include "node/kubelet/claims.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace dra {

using TimePoint = base::Clock::TimePoint;

// A step function: time, the kubelet's calls, replies, disk and host go in; writes and answers come
// out. It has no threads and no sockets. The caller runs the tasks that are posted to it, and calls
// Turn() when something may have changed and at the time that it returned. Used by one thread, the
// deciding one.
class DriverLoop {
 public:
  virtual ~DriverLoop() = default;

  // Reads the checkpoint. Returns false if another instance holds its lock: retry soon. After that
  // the kubelet may call.
  virtual base::Result<bool> Start() = 0;
  virtual void Add(Metrics::Operation operation, const std::vector<kubelet::ClaimName>& claims,
                   std::stop_token cancelled, kubelet::Done done) = 0;
  // A watch has news.
  virtual void NoteChange() = 0;
  // Does what can be done now. Returns when to call it again if nothing changes.
  virtual TimePoint Turn() = 0;
  // Answers every open call with this error.
  virtual void AnswerAll(const std::string& error) = 0;
  virtual std::vector<kubelet::DeviceHealth> Health() const = 0;
  // Removes what must not outlive the last instance. Returns false if nothing is to be removed, or
  // can be removed now. Calls `done` later.
  virtual bool CleanUp(std::function<void()> done) = 0;
};

}  // namespace dra
