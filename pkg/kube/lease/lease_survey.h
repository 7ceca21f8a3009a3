// Checks whether a live process holds one of several Leases.
//
// It does not take part in the election. A dead process leaves its name in the Lease. So a holder
// is alive only if its Lease changes between two reads, and dead once the Lease's duration passes
// without a change. Clocks of two machines are never compared. For one thread. Look() sends one GET
// for each Lease, one after the other.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace kube {

struct LeaseHolder {
  ObjectKey lease = {};
  std::string name = {};
  std::chrono::seconds duration{0};  // Of the Lease, from 1 s to 1 min.
};

class LeaseSurvey {
 public:
  explicit LeaseSurvey(const std::vector<ObjectKey>& leases);

  // Reads all Leases. `timeout` is for each request. `passed` is the time since the first Look().
  void Look(http::Transport& transport, std::chrono::milliseconds timeout,
            std::chrono::nanoseconds passed);

  // The holder that renewed or took a Lease since the first Look(). Empty if none did.
  const std::optional<LeaseHolder>& alive() const { return alive_; }
  // Returns the first holder that is not known to be dead: its Lease has been unchanged for less
  // than its duration. Empty if none.
  std::optional<LeaseHolder> MayBeAlive(std::chrono::nanoseconds passed) const;
  // Returns whether any of the Leases existed at the last Look().
  bool AnyExists() const;
  // Error of the first Lease that the last Look() could not read. Empty if it read all. A Lease
  // that does not exist is not an error.
  const std::optional<base::Error>& error() const { return error_; }

 private:
  struct Seen {
    LeaseHolder holder = {};  // Its name is empty if the Lease has no holder.
    std::string version = {};
    std::chrono::nanoseconds since{0};  // When this version was first seen.
    bool was_read = false;
    bool exists = false;
  };
  void Take(Seen& seen, const base::Result<http::Response>& reply, std::chrono::nanoseconds passed);

  std::vector<Seen> leases_;
  std::optional<LeaseHolder> alive_;
  std::optional<base::Error> error_;
};

}  // namespace kube
