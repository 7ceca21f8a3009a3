// The simulated API server: HTTP requests in, replies and watch streams out.
//
// pkg/kube/client sends its requests to it. It stores objects in the ObjectStore. A read can be
// served from an earlier state: `view` is the newest revision that the answering server knows.
// Writes always use the newest state.
//
// For one thread; no clocks, threads or sockets. Every request is recorded.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/http/transport.h"
#include "test/simulation/apiserver/object_store.h"
#include "test/simulation/apiserver/target.h"
#include "test/simulation/apiserver/watch_stream.h"

namespace simulation {

// One request that the server answered.
struct RequestRecord {
  std::string client = {};
  Target target = {};
  std::string body = {};
  int status = 0;
  std::string refusal = {};  // Message of a refusal.
  Revision revision = 0;     // Newest revision after the answer.
  Revision view = 0;         // Revision that a read was served from.
  Time time = {};

  // Returns "patch computedomains.resource.nvidia.com/status train/cd-1", for messages.
  std::string ToString() const;
};

class ApiServer {
 public:
  // `store` must outlive the server.
  explicit ApiServer(ObjectStore& store) : store_(store) {}

  // Answers any request except a watch. `client` is the sender, for requests() and the store.
  http::Response Handle(const std::string& client, const http::Request& request,
                        Revision view = kNewest);
  // Answers a watch.
  WatchStream OpenWatch(const std::string& client, const http::Request& request,
                        Revision view = kNewest);

  // Forgets older versions: a watch or list that continues from below `revision` gets 410.
  void Compact(Revision revision) { compacted_ = revision; }
  // Sets how the server reports that a watch's version is too old. Older servers use the status of
  // the reply; others use the first event of the stream.
  void SetGoneAsStatus(bool as_status) { gone_as_status_ = as_status; }

  // Sets which requests to refuse with 403, because a permission is missing.
  using Refuses = std::function<bool(const std::string& client, const Target& target)>;
  void Refuse(Refuses refuses) { refuses_ = std::move(refuses); }

  const std::deque<RequestRecord>& requests() const { return requests_; }
  // Forgets all requests and changes so far, for a run that no oracle sees. REQUIRES: every watch
  // has seen the changes.
  void ForgetPast() {
    requests_.clear();
    store_.ForgetPast();
  }
  const ObjectStore& store() const { return store_; }

 private:
  http::Response Answer(const std::string& client, const http::Request& request,
                        const Target& target, Revision view);
  Reply Write(const std::string& client, const http::Request& request, const Target& target);
  Reply WriteParsed(const std::string& client, const http::Request& request, const Target& target,
                    json::Value body);
  http::Response Get(const http::Request& request, const Target& target, Revision view) const;
  http::Response List(const http::Request& request, const Target& target, Revision view) const;
  WatchStream Open(const Target& target, Revision view) const;
  http::Response Discover(const Target& target) const;
  void Record(const std::string& client, const http::Request& request, Target target,
              const http::Response& answer, Revision view);

  ObjectStore& store_;
  Refuses refuses_;
  std::deque<RequestRecord> requests_;  // A deque, so that records do not move.
  Revision compacted_ = 0;
  bool gone_as_status_ = false;
};

}  // namespace simulation
