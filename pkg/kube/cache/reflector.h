// Keeps a store equal to one collection of the API server.
//
// It reads a paged LIST, then a WATCH. It resumes and renews the watch, and lists again when the
// server requires it, or when a watch has proven nothing for 5 minutes. An object, a bookmark or a
// LIST proves that the store is current; a watch that is only open does not: after a restore of
// etcd an API server accepts watches from versions that it does not have yet, and stays silent. If
// the resource has several versions, it reads one that the server serves.
//
// A step function without threads, clocks or sockets: the caller asks Poll() what to do, does it,
// and passes in the result. Production drives it from WatchLoop, the simulation from virtual time.
//
// For one thread.
// Bounds: a page has 4 MiB (16 MiB if it holds one object), a frame 16 MiB. Back-off with
// jitter is 0.8 s to 30 s, after a 403 or 404 at most 10 s (but see `cost_without`). A silent watch
// costs one LIST in 5 minutes.
// Source: client-go tools/cache/reflector.go for the numbers. Comments name the differences.
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

// Receives what a Reflector reads, on the reflector's thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // A full list arrives as Begin, any number of Add, End. End deletes the objects that the list
  // does not have. A list may stop half way; then another Begin follows. Readers see no change
  // before End.
  virtual void BeginReplace() = 0;
  virtual void ReplaceAdd(json::View object) = 0;
  virtual void EndReplace(const std::string& resource_version) = 0;

  // Applies a watch event. If `deleted`, `object` is the last state before it left the collection.
  virtual void Apply(json::View object, bool deleted) = 0;
  // Notes that the store is as new as this version (a bookmark).
  virtual void Advance(const std::string& resource_version) = 0;
};

// Why a reflector is not in sync, in the terms of an administrator.
struct ReflectorProblem {
  enum class Kind {
    kNone,
    kNotServed,  // 404: the CRD is not installed, or the server serves no version of the resource.
    kForbidden,  // 403: a permission is missing.
    kUnavailable,  // Any other error. All kinds are retried.
  };
  Kind kind = Kind::kNone;
  std::string message = {};
  friend bool operator==(const ReflectorProblem&, const ReflectorProblem&) = default;
};

struct ReflectorOptions {
  Resource resource = {};
  // Versions of the resource that the sink understands, the preferred first. After a 404 the
  // reflector asks the server which of them it serves. If empty, it reads `resource.version` only.
  std::vector<std::string> versions = {};
  std::string ns = {};  // Empty for all namespaces.
  std::string label_selector = {};
  std::string field_selector = {};
  int page_size = 500;
  // What the process cannot do without the resource, for the log. If set, a 403 is logged as a
  // Warning instead of an Error, and its back-off grows to 10 minutes, plus jitter.
  std::string cost_without = {};
  // Renews a stream that delivers no frame for this time.
  std::chrono::seconds stall_timeout{120};
};

// Returns the options to read the one object with this key.
inline ReflectorOptions OneNamed(const Resource& resource, const ObjectKey& key) {
  return {.resource = resource, .ns = key.ns, .field_selector = "metadata.name=" + key.name};
}

class Reflector {
 public:
  // What the caller must do now. At most one request is in flight; until it ends, Poll() returns
  // kWait.
  struct Next {
    enum class Kind { kWait, kSend, kStream } kind = Kind::kWait;
    http::Request request = {};  // For kSend, which has one reply, and kStream, whose body goes on.
    base::Clock::TimePoint until = {};  // For kWait: when to call Poll() again, at the latest.
    // For every kind: drop the request in flight first, because it has stalled. Pass in nothing
    // more of it.
    bool abandon = false;
  };

  // `sink`, `random` and `logger` outlive the reflector.
  Reflector(ReflectorOptions options, ReflectorSink& sink, base::Random& random,
            base::Logger& logger);

  Next Poll(base::Clock::TimePoint now);

  // Takes the reply to a kSend. For a kStream: the reply if its status was not 200, or the error if
  // there was no reply.
  void OnReply(base::Clock::TimePoint now, base::Result<http::Response> reply);
  // Takes bytes of a kStream's 200 body, split anywhere. An optional call without bytes means that
  // the 200 has arrived. Returns false if the stream is over: the caller must drop it and call
  // Poll().
  bool OnStreamData(base::Clock::TimePoint now, std::string_view bytes);
  // Ends the stream of a 200. `result` is an error if the connection failed. Ignored after a false.
  void OnStreamEnd(base::Clock::TimePoint now, const base::Result<void>& result);

  // Lists once more, although the watch is well: for an owner that knows of a restore. The next
  // Poll() begins it. No effect if a list is due or in progress.
  void ListAgain() { list_again_ = std::holds_alternative<Watching>(state_); }

  // Returns when the sink was last known to match the collection: `now` while a watch is open, but
  // at most 5 minutes after the last proof. Empty if no list was read. A stalled watch counts as
  // open until Poll() abandons it.
  std::optional<base::Clock::TimePoint> CurrentAsOf(base::Clock::TimePoint now) const;
  // Returns whether a watch has been open for one second. Events that the store missed before
  // arrive within that second.
  bool HasCaughtUp(base::Clock::TimePoint now) const;
  // Returns whether the reflector has read a list to its end.
  bool HasSynced() const { return has_synced_; }
  const ReflectorProblem& problem() const { return problem_; }
  // Returns since when reads fail. Empty while they succeed, and before the first one has ended.
  std::optional<base::Clock::TimePoint> failing_since() const { return failing_since_; }
  // Returns whether the server serves the resource. False once discovery listed it in none of
  // `versions`, until it is listed or read again. Without `versions` discovery is not asked.
  bool IsServed() const { return is_served_; }
  const ReflectorOptions& options() const { return options_; }
  // The resource in the version that the reflector reads now.
  const Resource& resource() const { return resource_; }
  // How often the reflector began a list and a watch, since the start.
  std::uint64_t lists() const { return lists_; }
  std::uint64_t watches() const { return watches_; }
  // How often a list or an object of a watch was older than what the reflector had seen, which the
  // server promises not to send. It is so after a restore of etcd. Bookmarks do not count.
  std::uint64_t versions_gone_back() const { return versions_gone_back_; }

 private:
  using TimePoint = base::Clock::TimePoint;
  // The current phase. Each alternative holds the data that lives as long as the phase.
  struct Discovering {
    VersionSearch search;  // Which version of the resource is served.
  };
  struct Listing {
    std::string continue_token = {};  // Of the next page. Empty for the first page.
    std::string version = {};         // Of the first page.
  };
  struct Watching {
    TimePoint started = {};
    TimePoint hard_deadline = {};  // The watch ends then, even if it delivers events.
    std::string buffer = {};       // The frame that is not complete yet.
    json::Scanner scanner = {};    // At the end of `buffer`.
    std::uint64_t frames = 0;
    bool delivered_object = false;
    std::optional<TimePoint> opened = {};  // When its 200 arrived. Empty until then.
  };
  // What to read after a back-off. kGoOn repeats the same page or version.
  enum class Then { kListAgain, kGoOn };
  enum class HealedBy { kList, kOpenStream, kFrame };  // The event that ends a problem.

  bool HasVersions() const { return !options_.versions.empty(); }
  http::Request Start(TimePoint now);
  http::Request StartWatch(TimePoint now);
  void LogBegin(std::string_view what);
  void OnStall(TimePoint now);
  bool LacksProof(TimePoint now) const;
  void EndWithoutProof(TimePoint now);
  void OnDiscovery(TimePoint now, const base::Result<http::Response>& reply);
  void OnNotServed(TimePoint now, const base::Error& error);
  void OnListError(TimePoint now, const base::Error& error);
  void OnWatchError(TimePoint now, const base::Error& error, Then then);
  void OnListReply(TimePoint now, const http::Response& reply);
  base::Result<void> TakePage(Listing& list, std::string_view body);
  void OnGone(TimePoint now, const base::Error& error);
  void OnCut(std::chrono::nanoseconds lived, const base::Error& error);
  void Prosper(TimePoint now, const Watching& watch);
  void EndStream(TimePoint now, const base::Error& error, Then then);
  bool OnFrame(TimePoint now, Watching& watch, std::string_view frame);
  base::Result<void> TakeEvent(TimePoint now, json::View event);

  void Relist();
  void BackOff(TimePoint now, const base::Error& error, Then then);
  std::string Advice(const base::Error& error) const;
  void Report(const base::Error& error);
  void Recovered();

  const ReflectorOptions options_;
  ReflectorSink& sink_;
  base::Random& random_;
  base::Logger& logger_;
  json::Parser parser_;

  Resource resource_;
  bool searched_ = false;  // A 404 arrived, and no good watch since.

  std::variant<Discovering, Listing, Watching> state_ = Listing();
  // When the request or stream in flight counts as stalled. Empty if none is in flight.
  std::optional<TimePoint> stalls_at_;

  TimePoint retry_at_ = TimePoint::min();
  base::Backoff backoff_;
  std::optional<TimePoint> healthy_since_;  // First good reply after a failure. Empty if none.

  // Size of the pages. `in_one_page_` asks for a list without pages.
  PageLimit page_;
  bool in_one_page_ = false;
  bool list_again_ = false;  // The owner wants a list.

  bool has_synced_ = false;
  TimePoint current_at_ = {};     // Time of the last list, or of the last sign of life of a watch.
  TimePoint proven_at_ = {};      // Time of the last list, object or bookmark.
  std::string resource_version_;  // Of the last list or event that reached the sink. Empty before
                                  // the first list.
  int empty_watches_ = 0;         // Watches in a row without events, from one version.
  int short_watches_ = 0;         // Watches in a row that ended within 1 s, with or without events.
  bool gone_ = false;             // A 410 arrived, and no good watch since.
  bool cut_logged_ = false;
  bool is_served_ = true;  // False only after discovery said so.

  ReflectorProblem problem_ = {};
  std::optional<TimePoint> failing_since_;   // Empty while reads succeed.
  std::optional<base::ErrorCode> reported_;  // Last logged failure. Empty after a recovery.
  HealedBy healed_by_ = HealedBy::kList;
  bool unknown_type_logged_ = false;
  std::uint64_t lists_ = 0;
  std::uint64_t watches_ = 0;
  std::uint64_t versions_gone_back_ = 0;
};

}  // namespace kube
