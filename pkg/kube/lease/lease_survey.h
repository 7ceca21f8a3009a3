// Finds out whether a living process holds one of several Leases, without taking part in an
// election.
//
// A process that died leaves its name in its Lease. So a holder counts as alive only if its Lease
// changes between two looks, and as dead once the Lease's duration has passed without a change.
// Clocks of two machines are not compared. Used by one thread; a look sends one GET for each Lease,
// one after the other.
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
  std::chrono::seconds duration{0};  // Of the Lease: from 1 s to a minute.
};

class LeaseSurvey {
 public:
  explicit LeaseSurvey(const std::vector<ObjectKey>& leases);

  // Reads all Leases. `timeout` is that of each request, `passed` the time since the first look.
  void Look(http::Transport& transport, std::chrono::milliseconds timeout,
            std::chrono::nanoseconds passed);

  // Who was seen to renew a Lease, or to take it, since the first look. Empty: nobody so far.
  [[nodiscard]] const std::optional<LeaseHolder>& alive() const { return alive_; }
  // Who has not been silent for long enough to be dead. Empty: nobody.
  [[nodiscard]] std::optional<LeaseHolder> MayBeAlive(std::chrono::nanoseconds passed) const;
  // Whether one of the Leases exists, as the last look saw.
  [[nodiscard]] bool AnyExists() const;
  // The first Lease that the last look could not read. A Lease that does not exist is no error.
  [[nodiscard]] const std::optional<base::Error>& error() const { return error_; }

 private:
  struct Seen {
    LeaseHolder holder = {};  // Its name is empty if nobody holds the Lease.
    std::string version = {};
    std::chrono::nanoseconds since{0};  // When this version was seen first.
    bool was_read = false;
    bool exists = false;
  };
  void Take(Seen& seen, const base::Result<http::Response>& reply, std::chrono::nanoseconds passed);

  std::vector<Seen> leases_;
  std::optional<LeaseHolder> alive_;
  std::optional<base::Error> error_;
};

}  // namespace kube
