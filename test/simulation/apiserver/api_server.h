// The simulated API server as its clients see it: HTTP requests in, replies and watch streams out.
// Above it run the very requests of pkg/kube/client; below it lies the ObjectStore.
//
// A reader can be served from an earlier state of the truth: `view` is the newest revision that the
// server answering this request knows of. Writes always meet the truth.
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
  std::string refusal = {};  // Why it was refused, in the server's words.
  Revision revision = 0;     // The truth once it was answered.
  Revision view = 0;         // What a read was served from.
  Time time = {};

  // "patch computedomains.resource.nvidia.com/status train/cd-1", for people.
  [[nodiscard]] std::string ToString() const;
};

class ApiServer {
 public:
  // `store` outlives the server.
  explicit ApiServer(ObjectStore& store) : store_(store) {}

  // Answers anything but a watch. `client` is who sends it, as requests() and the store remember
  // it.
  [[nodiscard]] http::Response Handle(const std::string& client, const http::Request& request,
                                      Revision view = kNewest);
  // Answers a watch.
  [[nodiscard]] WatchStream OpenWatch(const std::string& client, const http::Request& request,
                                      Revision view = kNewest);

  // Forgets what readers could resume from: a watch or a list that continues below is 410.
  void Compact(Revision revision) { compacted_ = revision; }
  // How the server says that a watch's version is too old: as the status of the reply (which
  // servers did once), or as the first event of the stream.
  void SetGoneAsStatus(bool as_status) { gone_as_status_ = as_status; }

  // Which requests to refuse with 403, because a permission is missing.
  using Refuses = std::function<bool(const std::string& client, const Target& target)>;
  void Refuse(Refuses refuses) { refuses_ = std::move(refuses); }

  [[nodiscard]] const std::deque<RequestRecord>& requests() const { return requests_; }
  [[nodiscard]] const ObjectStore& store() const { return store_; }

 private:
  [[nodiscard]] http::Response Answer(const std::string& client, const http::Request& request,
                                      const Target& target, Revision view);
  [[nodiscard]] Reply Write(const std::string& client, const http::Request& request,
                            const Target& target);
  [[nodiscard]] Reply WriteParsed(const std::string& client, const http::Request& request,
                                  const Target& target, json::Value body);
  [[nodiscard]] http::Response Get(const http::Request& request, const Target& target,
                                   Revision view) const;
  [[nodiscard]] http::Response List(const http::Request& request, const Target& target,
                                    Revision view) const;
  [[nodiscard]] WatchStream Open(const Target& target, Revision view) const;
  [[nodiscard]] http::Response Discover(const Target& target) const;
  void Record(const std::string& client, const http::Request& request, Target target,
              const http::Response& answer, Revision view);

  ObjectStore& store_;
  Refuses refuses_;
  std::deque<RequestRecord> requests_;  // None is moved as it grows.
  Revision compacted_ = 0;
  bool gone_as_status_ = false;
};

}  // namespace simulation
