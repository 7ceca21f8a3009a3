// LISTs that several workers want at once, sent once.
//
// A LIST that begins after a worker has asked proves as much to it as one of its own. So there is
// at most one LIST under way of what is the same for all of them, and the next one answers all who
// asked meanwhile. LISTs that differ only in the value of the label that they select by are the
// same: the one that is sent selects all of these values. So a reply may hold objects of others,
// and each asker has to look at the label. LISTs of several kinds that are asked for at once, by
// one value, are shared as one, so that all of them answer the same askers.
//
// Pages that follow a first one, and LISTs by fields, are sent as they are. An asker waits for
// LISTs of others a second, and then sends its own: who asks for something slow beside what is
// shared holds up nobody for long. It must be much longer than a LIST takes. An API server that
// answers one from its watch cache first waits, for up to a tenth of a second, until etcd has told
// how far its revisions are.
//
// Thread-safe; owns no thread. Bounds: 16 values in one LIST; who comes later sends its own. What
// LISTs answered is in memory once for all who asked, and for eight senders at a time: the next
// one waits until the answers of one of them were let go.
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
  // The right to have replies to LISTs in memory. It is given back with the last copy.
  using Turn = std::shared_ptr<void>;

  // Let them go once they are read, and before the next call: others wait for that.
  struct Answers {
    std::vector<Turn> turns = {};
    std::vector<base::Result<http::Response>> replies = {};  // In the order of the requests.
  };

  explicit SharedLists(const base::Clock& clock,
                       std::chrono::milliseconds patience = std::chrono::seconds(1))
      : clock_(clock), patience_(patience) {}

  // As `transport`'s. What is to be sent by the caller goes over it, on this thread. Outlives the
  // answers.
  [[nodiscard]] Answers SendAll(const std::vector<http::Request>& requests,
                                http::Transport& transport);

  // Callers that have asked and have no answer yet.
  [[nodiscard]] std::size_t askers() const;

 private:
  struct Flight {
    std::vector<http::Request> requests = {};  // With one value, or with none.
    std::set<std::string> values = {};
    std::vector<base::Result<http::Response>> replies = {};  // Empty: not yet.
    Turn turn = {};                                          // Of who sends it. Null: not yet.
  };
  using FlightPtr = std::shared_ptr<Flight>;
  // Of the LISTs that are the same but for the value.
  struct ListQueue {
    int under_way = 0;
    FlightPtr next = {};  // What begins when those have ended. Null: nobody has asked.
  };
  struct Part;
  struct Asker;

  [[nodiscard]] static std::vector<Part> Divide(const std::vector<http::Request>& requests);
  // Leaves it alone if it is not shared, or too many share.
  void Join(Part& part);
  [[nodiscard]] bool MayTake(const Part& part, const Asker& asker) REQUIRES(mutex_);
  // Whether it is to be sent by the caller now.
  [[nodiscard]] bool Take(Part& part, Asker& asker, std::vector<http::Request>& to_send)
      REQUIRES(mutex_);
  void Answer(Part& part, std::vector<base::Result<http::Response>> replies) REQUIRES(mutex_);
  void GiveBackTurn();

  const base::Clock& clock_;
  const std::chrono::milliseconds patience_;
  mutable base::Mutex mutex_;
  std::condition_variable_any ended_;
  std::map<std::string, ListQueue> queues_ GUARDED_BY(mutex_);
  std::size_t askers_ GUARDED_BY(mutex_) = 0;
  int turns_ GUARDED_BY(mutex_) = 0;  // That are given out.
};

}  // namespace kube
