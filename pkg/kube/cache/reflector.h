// Keeps a store equal to one collection of the API server: a paged LIST, then a WATCH that is
// resumed, renewed, and begun again from a LIST when the server says so; if the resource has
// several versions, in one that the server serves.
//
// A step function without threads, clocks or sockets: the caller asks Poll() what to do, does it,
// and hands in what came back. Production drives it from the watch loop, simulation from virtual
// time. Used by one thread. Bounds: one page (4 MiB; of one object 16 MiB), one frame (16 MiB);
// back-off 0.8 s to 30 s with jitter. Source: client-go tools/cache/reflector.go for the numbers;
// differences are said where they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/json/reader.h"
#include "pkg/json/scanner.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/page_limit.h"
#include "pkg/kube/discovery/version_search.h"

namespace kube {

// Where a Reflector puts what it reads. Called on the reflector's thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // A full list follows: Begin, any number of Add, End. What End does not see again is gone. A list
  // that is abandoned half way is followed by another Begin; until End nothing changes for readers.
  virtual void BeginReplace() = 0;
  virtual void ReplaceAdd(json::View object) = 0;
  virtual void EndReplace(const std::string& resource_version) = 0;

  // `object` was added or changed (`deleted` false), or left the collection with this last state.
  virtual void Apply(json::View object, bool deleted) = 0;
  // The store is as new as this version (a bookmark).
  virtual void Advance(const std::string& resource_version) = 0;
};

// What keeps a reflector from being in sync, in the terms of an administrator.
struct ReflectorProblem {
  enum class Kind {
    kNone,
    kNotServed,    // 404: the CRD is not there, or no version of the resource.
    kForbidden,    // 403: a right is missing.
    kUnavailable,  // Anything else; it is retried.
  };
  Kind kind = Kind::kNone;
  std::string message = {};
  friend bool operator==(const ReflectorProblem&, const ReflectorProblem&) = default;
};

struct ReflectorOptions {
  Resource resource = {};
  // Every version of the resource that the sink understands, the preferred first. When the server
  // does not serve the one in use, it is asked which it serves, before and whenever that changes.
  // Empty: `resource.version` alone.
  std::vector<std::string> versions = {};
  std::string ns = {};  // Empty: all namespaces.
  std::string label_selector = {};
  std::string field_selector = {};
  int page_size = 500;
  // What it costs to do without the resource, for the log. Where that can be said, a refusal is no
  // error, and is tried again ever more rarely.
  std::string cost_without = {};
  std::chrono::seconds stall_timeout{120};  // A stream without any frame for this long is renewed.
};

// One object, or none.
[[nodiscard]] inline ReflectorOptions OneNamed(const Resource& resource, const ObjectKey& key) {
  return {.resource = resource, .ns = key.ns, .field_selector = "metadata.name=" + key.name};
}

class Reflector {
 public:
  // What the caller must do now. At most one request is under way; Poll() while one is says kWait.
  struct Next {
    enum class Kind { kWait, kSend, kStream } kind = Kind::kWait;
    http::Request request = {};         // kSend: one reply. kStream: a body that goes on.
    base::Clock::TimePoint until = {};  // kWait: Poll again then, at the latest.
    // With any kind: first drop the request that is under way, for it has stalled. Nothing more of
    // it is handed in.
    bool abandon = false;
  };

  // All outlive the reflector.
  Reflector(ReflectorOptions options, ReflectorSink& sink, base::Random& random,
            base::Logger& logger);

  [[nodiscard]] Next Poll(base::Clock::TimePoint now);

  // The reply to a kSend; for a kStream, the reply when its status was not 200, or the error when
  // there was none.
  void OnReply(base::Clock::TimePoint now, base::Result<http::Response> reply);
  // For a kStream: bytes of a 200's body, split anywhere; none says that the 200 has arrived, which
  // may be left out. False: the stream is of no use and over; drop it, and Poll() again.
  [[nodiscard]] bool OnStreamData(base::Clock::TimePoint now, std::string_view bytes);
  // The stream of a 200 ended: cleanly, or by an error of the connection. Ignored after a false.
  void OnStreamEnd(base::Clock::TimePoint now, const base::Result<void>& result);

  // When the sink was last known to hold the collection as it was: `now` while a watch is open.
  // Empty if it was never read. A watch that has stalled counts as open until it is given up.
  [[nodiscard]] std::optional<base::Clock::TimePoint> CurrentAsOf(base::Clock::TimePoint now) const;
  // Whether a watch is open, and has been for the second in which what was missed before it comes.
  [[nodiscard]] bool HasCaughtUp(base::Clock::TimePoint now) const;
  // A list was read to its end once.
  [[nodiscard]] bool HasSynced() const { return has_synced_; }
  [[nodiscard]] const ReflectorProblem& problem() const { return problem_; }
  [[nodiscard]] const ReflectorOptions& options() const { return options_; }
  // In the version that is read now.
  [[nodiscard]] const Resource& resource() const { return resource_; }
  // How often it began to read everything, and to watch: once each, and again after every loss.
  [[nodiscard]] std::uint64_t lists() const { return lists_; }
  [[nodiscard]] std::uint64_t watches() const { return watches_; }
  // How often the server's versions went backwards, which it promises not to do.
  [[nodiscard]] std::uint64_t versions_gone_back() const { return versions_gone_back_; }

 private:
  using TimePoint = base::Clock::TimePoint;
  // What it is doing. Each case has the data that lives for as long.
  struct Discovering {
    VersionSearch search;  // Which version of the resource is served.
  };
  struct Listing {
    std::string continue_token = {};  // Of the next page. Empty: the first.
    std::string version = {};         // Of the first page.
  };
  struct Watching {
    TimePoint started = {};
    TimePoint hard_deadline = {};  // Whatever it delivers.
    std::string buffer = {};       // Of a frame whose end has not come.
    json::Scanner scanner = {};    // Stands at the end of `buffer`.
    std::uint64_t frames = 0;
    std::optional<TimePoint> opened = {};  // When its 200 arrived.
  };
  enum class Then { kListAgain, kGoOn };  // After a back-off; kGoOn: the same page or version.
  enum class HealedBy { kList, kOpenStream, kFrame };  // What proves that a problem is over.

  [[nodiscard]] bool HasVersions() const { return !options_.versions.empty(); }
  [[nodiscard]] http::Request Start(TimePoint now);
  [[nodiscard]] http::Request StartWatch(TimePoint now);
  void OnStall(TimePoint now);
  void OnDiscovery(TimePoint now, const base::Result<http::Response>& reply);
  void OnNotServed(TimePoint now, const base::Error& error);
  void OnListError(TimePoint now, const base::Error& error);
  void OnWatchError(TimePoint now, const base::Error& error, Then then);
  void OnListReply(TimePoint now, const http::Response& reply);
  [[nodiscard]] base::Result<void> TakePage(Listing& list, std::string_view body);
  void OnGone(TimePoint now, const base::Error& error);
  void OnCut(std::chrono::nanoseconds lived, const base::Error& error);
  void Prosper(TimePoint now, const Watching& watch);
  void EndStream(TimePoint now, const base::Error& error, Then then);
  [[nodiscard]] bool OnFrame(TimePoint now, Watching& watch, std::string_view frame);
  [[nodiscard]] base::Result<void> TakeEvent(json::View event);

  void Relist();
  void BackOff(TimePoint now, const base::Error& error, Then then);
  [[nodiscard]] std::string Advice(const base::Error& error) const;
  void Report(const base::Error& error);
  void Recovered();

  const ReflectorOptions options_;
  ReflectorSink& sink_;
  base::Random& random_;
  base::Logger& logger_;
  json::Parser parser_;

  Resource resource_;
  bool searched_ = false;  // 404, and no good watch since.

  std::variant<Discovering, Listing, Watching> state_ = Listing();
  std::optional<TimePoint> stalls_at_;  // When the request or stream under way has. Empty: none is.

  TimePoint retry_at_ = TimePoint::min();
  base::Backoff backoff_;
  std::optional<TimePoint> healthy_since_;  // Since the first good answer after a failure.

  // How lists are paged.
  PageLimit page_;
  bool in_one_page_ = false;

  bool has_synced_ = false;
  TimePoint current_at_ = {};     // At the last list, and at the last sign of life of a watch.
  std::string resource_version_;  // Of the last list or event that reached the sink.
  int empty_watches_ = 0;         // In a row, from one version.
  int short_watches_ = 0;         // In a row, however much they delivered.
  bool gone_ = false;             // 410, and no good watch since.
  bool cut_logged_ = false;

  ReflectorProblem problem_ = {};
  std::optional<base::ErrorCode> reported_;  // The failure that was logged last.
  HealedBy healed_by_ = HealedBy::kList;
  bool unknown_type_logged_ = false;
  std::uint64_t lists_ = 0;
  std::uint64_t watches_ = 0;
  std::uint64_t versions_gone_back_ = 0;
};

}  // namespace kube
