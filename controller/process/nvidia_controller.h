// Guard for a controller that runs beside NVIDIA's: both serve the same domains, so only one of
// them may act.
//
// NVIDIA's controller must elect on the same Lease. It does so only if its Deployment says so, and
// by default it does not. Nothing in the Lease shows a controller that does not elect.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace process {

// What the Deployments of a namespace say about NVIDIA's controller.
struct NvidiaController {
  // In the order of how much they leave to cdom.
  enum class Is {
    kAbsent,  // No Deployment has pods with it, or will have.
    kElects,  // Its pods elect on the Lease in question.
    // Pods of an older template still run, or nobody has acted on the newest one. This changes
    // nothing: if the older one let cdom act, both do; if not, cdom waits for the end.
    kChanges,
    kElectsElsewhere,  // It elects on another Lease.
    kActsAlone,        // It runs without election, which is its default.
  };
  Is is = Is::kAbsent;
  kube::ObjectKey deployment = {};  // Empty if it is absent.
  kube::ObjectKey lease = {};       // On which it elects. Empty unless it elects.
  friend bool operator==(const NvidiaController&, const NvidiaController&) = default;
};

// Pure. `deployments` is a DeploymentList. Ignores Deployments of cdom. With several of NVIDIA's,
// returns the one that leaves the least: cdom may act only if all of them let it.
NvidiaController FindNvidiaController(json::View deployments, const kube::ObjectKey& lease);

struct BesideNvidiaOptions {
  std::string ns = {};         // Of NVIDIA's Deployment: the driver namespace.
  kube::ObjectKey lease = {};  // On which cdom elects.
  // How long NVIDIA's controller must have left room before cdom may act. Pods of a Deployment that
  // was scaled down end within this time.
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds period{2'000};  // Between two reads; also the timeout of each.
};

// Reads the Deployments again and again, and tells whether cdom may take part in the election. Logs
// each change. For one thread.
class BesideNvidia {
 public:
  // `clock` and `logger` outlive the object.
  BesideNvidia(BesideNvidiaOptions options, const base::Clock& clock, base::Logger& logger);

  // Reads the Deployments if the last read was a period ago. A read that fails changes nothing:
  // the Lease protects cdom's term, and a new process does not act before its first read.
  void Look(http::Transport& transport);

  // Returns whether cdom may take part in the election. If it leads and this is false, it must end
  // its term.
  bool MayElect() const;

 private:
  void Report(const NvidiaController& found);

  const BesideNvidiaOptions options_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::Clock::TimePoint next_ = base::Clock::TimePoint::min();
  std::optional<NvidiaController> found_ = {};  // Empty before the first read.
  // Since when NVIDIA's controller leaves room. Empty if it does not.
  std::optional<base::Clock::TimePoint> room_since_ = {};
  bool failed_ = false;  // The last read failed, which was logged.
};

}  // namespace process
