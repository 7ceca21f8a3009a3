// Sends one LIST for several workers that ask at the same time.
//
// A LIST that starts after a worker asked is as fresh for it as its own LIST. So at most one LIST
// of a kind is in flight, and the next one answers every worker that asked meanwhile. LISTs that
// differ only in the value of their label selector share one request, which selects all the values.
// So a reply may hold objects of other workers: each caller must check the label. If a caller asks
// for LISTs of several resources by one value, they are shared as one group.
//
// A LIST costs the API server a look at every object of the kind. So the next one, or the next
// group, waits until `gap` after the last one began, and more callers share it.
//
// Later pages, and LISTs by field selector, are not shared. A caller waits one second for the LISTs
// of others, and then sends its own, so that a slow LIST delays no other caller for long. This
// patience must be much longer than a LIST takes: an API server that answers from its watch cache
// first waits up to 0.1 s until etcd reports its revision.
//
// Thread-safe; owns no thread.
// Bounds: one LIST has 32 values, and further callers send their own. A reply is in memory once for
// all its callers. At most eight senders have replies in memory; the next sender waits until one of
// them drops its replies.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/http/transport.h"

namespace kube {

class SharedLists {
 public:
  // Permission to have replies to LISTs in memory. The last copy returns it.
  using Turn = std::shared_ptr<void>;

  // Destroy it after reading, and before the next call: other callers wait for that.
  struct Answers {
    std::vector<Turn> turns = {};
    std::vector<base::Result<http::Response>> replies = {};  // In the order of the requests.
  };

  // `gap` is much shorter than `patience`.
  explicit SharedLists(const base::Clock& clock,
                       std::chrono::milliseconds patience = std::chrono::seconds(1),
                       std::chrono::milliseconds gap = std::chrono::milliseconds(0))
      : clock_(clock), patience_(patience), gap_(gap) {}

  // Returns a reply for each request, as Transport::SendAll() does. Sends the caller's own requests
  // over `transport`, on this thread. This object outlives the answers.
  Answers SendAll(const std::vector<http::Request>& requests, http::Transport& transport);

  // The number of callers without an answer.
  std::size_t askers() const;

 private:
  struct Flight {
    std::vector<http::Request> requests = {};  // With one value or without any.
    std::set<std::string> values = {};
    std::vector<base::Result<http::Response>> replies = {};  // Empty until they arrive.
    Turn turn = {};                                          // Of the sender. Null until it sends.
  };
  using FlightPtr = std::shared_ptr<Flight>;
  // The LISTs that differ only in the value.
  struct ListQueue {
    int under_way = 0;
    FlightPtr next = {};  // Starts when those have ended. Null if no caller waits for it.
  };
  struct Part;
  struct Asker;

  static std::vector<Part> Divide(const std::vector<http::Request>& requests);
  // Adds the part to the next LIST of its queue. Does nothing if it cannot be shared, or if that
  // LIST is full.
  void Join(Part& part);
  bool MayTake(const Part& part, const Asker& asker) REQUIRES(mutex_);
  // Notes that a LIST of the queue begins now.
  void Begin(const std::string& queue) REQUIRES(mutex_);
  // Returns when the next one may begin.
  base::Clock::TimePoint MayBegin(const std::string& queue) const REQUIRES(mutex_);
  // Returns whether the caller must send the part now. Then adds its requests to `to_send`.
  bool Take(Part& part, Asker& asker, std::vector<http::Request>& to_send) REQUIRES(mutex_);
  void Answer(Part& part, std::vector<base::Result<http::Response>> replies) REQUIRES(mutex_);
  void GiveBackTurn();

  const base::Clock& clock_;
  const std::chrono::milliseconds patience_;
  const std::chrono::milliseconds gap_;
  mutable base::Mutex mutex_;
  std::condition_variable_any ended_;
  std::map<std::string, ListQueue> queues_ GUARDED_BY(mutex_);
  // When the last LIST of a queue began. Not older than `gap_`.
  std::map<std::string, base::Clock::TimePoint> began_ GUARDED_BY(mutex_);
  std::size_t askers_ GUARDED_BY(mutex_) = 0;
  int turns_ GUARDED_BY(mutex_) = 0;  // Turns that senders hold.
};

}  // namespace kube
