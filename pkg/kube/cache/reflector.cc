#include "pkg/kube/cache/reflector.h"

#include <algorithm>
#include <utility>

#include "pkg/json/repair.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using base::Error, base::ErrorCode, base::Invalid, base::Result;
using json::Scanner;
using std::chrono::milliseconds, std::chrono::nanoseconds, std::chrono::seconds;
using Kind = ReflectorProblem::Kind;

// Like client-go: 0.8 s, doubling. Its jitter adds up to the same again, and so does this one. So
// the doubling ends at 15 s, to stay below 30 s.
constexpr base::BackoffPolicy kBackoff = {.first = milliseconds(800), .most = seconds(15)};
// For a resource that is not required, and may be missing forever.
constexpr base::BackoffPolicy kBackoffWithout = {.first = milliseconds(800),
                                                 .most = std::chrono::minutes(10)};
constexpr double kJitter = 1.0;
constexpr double kAskedJitter = 0.2;  // Of a time that the server asked for.
// Only an administrator can fix such a failure. Frequent retries notice the fix soon.
constexpr nanoseconds kMostForPeople = seconds(5);
constexpr nanoseconds kHealthy =
    std::chrono::minutes(2);  // After this a failure counts as the first one again.

constexpr seconds kWatchTimeoutMin{300};
constexpr int kWatchTimeoutSpread = 301;  // Up to 600 s, at random: watches must not end together.
constexpr seconds kDriverGrace{5};        // The caller's own timeout comes first.
// Changes that a watch missed arrive at once when it opens.
constexpr nanoseconds kCatchesUpWithin = seconds(1);
// A proof that the store is current holds this long. The API server sends a bookmark a minute.
constexpr std::chrono::minutes kProvenFor{5};
constexpr nanoseconds kVeryShort = seconds(1);  // A watch that ends sooner, empty, has failed.
constexpr nanoseconds kShort = seconds(2);
constexpr int kEmptyWatchesMax = 3;           // Then the version counts as expired.
constexpr int kShortWatchesMax = 3;           // Then the next ones start at most once a second.
constexpr std::size_t kFrameMax = 16U << 20;  // etcd allows 1.5 MB. client-go reads 16 MiB, too.

Kind KindOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return Kind::kNotServed;
    case ErrorCode::kForbidden:
      return Kind::kForbidden;
    default:
      return Kind::kUnavailable;
  }
}

Error Unavailable(std::string message) {
  return {.code = ErrorCode::kUnavailable, .message = std::move(message)};
}

}  // namespace

Reflector::Reflector(ReflectorOptions options, ReflectorSink& sink, base::Random& random,
                     base::Logger& logger)
    : options_(std::move(options)),
      sink_(sink),
      random_(random),
      logger_(logger),
      resource_(options_.resource),
      page_(options_.page_size, PageLimit::kFirst) {}

Reflector::Next Reflector::Poll(TimePoint now) {
  Next next;
  if (LacksProof(now)) {
    next.abandon = stalls_at_.has_value();
    EndWithoutProof(now);
  } else if (stalls_at_) {
    if (now < *stalls_at_) {
      const TimePoint unproven_at = proven_at_ + kProvenFor;
      const bool may_lack = std::holds_alternative<Watching>(state_) && now < unproven_at;
      return {.until = may_lack ? std::min(*stalls_at_, unproven_at) : *stalls_at_};
    }
    next.abandon = true;
    OnStall(now);
  }
  if (now < retry_at_) {
    next.until = retry_at_;
    return next;
  }
  const bool watches = std::holds_alternative<Watching>(state_);
  next.kind = watches ? Next::Kind::kStream : Next::Kind::kSend;
  next.request = watches ? StartWatch(now) : Start(now);
  return next;
}

http::Request Reflector::Start(TimePoint now) {
  const Listing* list = std::get_if<Listing>(&state_);
  if (list != nullptr && list->continue_token.empty()) {
    ++lists_;
    LogBegin("Listing a resource");
  }
  http::Request request = list == nullptr
                              ? std::get<Discovering>(state_).search.Next()
                              : ListRequest(resource_, {.ns = options_.ns,
                                                        .label_selector = options_.label_selector,
                                                        .field_selector = options_.field_selector,
                                                        .continue_token = list->continue_token,
                                                        .limit = in_one_page_ ? 0 : page_.objects(),
                                                        .bytes_max = page_.bytes_max()});
  stalls_at_ = now + request.timeout + kDriverGrace;
  return request;
}

http::Request Reflector::StartWatch(TimePoint now) {
  ++watches_;
  LogBegin("Watching a resource");
  const auto extra = static_cast<int>(random_.Fraction() * kWatchTimeoutSpread);
  http::Request request = WatchRequest(resource_, {.ns = options_.ns,
                                                   .label_selector = options_.label_selector,
                                                   .field_selector = options_.field_selector,
                                                   .resource_version = resource_version_,
                                                   .timeout = kWatchTimeoutMin + seconds(extra)});
  const TimePoint hard_deadline = now + request.timeout + kDriverGrace;
  state_ = Watching{.started = now, .hard_deadline = hard_deadline};
  stalls_at_ = std::min(now + options_.stall_timeout, hard_deadline);
  return request;
}

void Reflector::LogBegin(std::string_view what) {
  if (!logger_.Writes(base::LogLevel::kWatches)) return;
  logger_.Log(base::LogLevel::kWatches, what,
              {{"resource", resource_.QualifiedName()},
               {"namespace", options_.ns},
               {"version", resource_version_}});
}

// A proxy keeps the connection although the server behind it is dead. So a watch is renewed without
// an error.
void Reflector::OnStall(TimePoint now) {
  stalls_at_.reset();
  if (!std::holds_alternative<Watching>(state_)) {
    OnListError(now, {.code = ErrorCode::kDeadlineExceeded, .message = "no reply"});
    return;
  }
  logger_.Info("Renewing a watch without heartbeat", {{"resource", resource_.QualifiedName()}});
  empty_watches_ = 0;
  if (now >= proven_at_ + kProvenFor) Relist();
}

// Returns whether to list instead of watching. A watch that is refused is retried, and its view
// gets stale.
bool Reflector::LacksProof(TimePoint now) const {
  const auto* const watch = std::get_if<Watching>(&state_);
  return watch != nullptr && (list_again_ || (watch->opened && now >= proven_at_ + kProvenFor));
}

void Reflector::EndWithoutProof(TimePoint now) {
  logger_.Info(list_again_ ? "Listing again, as requested"
                           : "Listing again, because a watch has been silent for 5 minutes",
               {{"resource", resource_.QualifiedName()}, {"namespace", options_.ns}});
  if (stalls_at_ && std::get<Watching>(state_).opened) current_at_ = now;
  stalls_at_.reset();
  Relist();
}

void Reflector::OnReply(TimePoint now, Result<http::Response> reply) {
  if (!stalls_at_) return;
  const Result<http::Response> checked = CheckStatus(std::move(reply), http::Method::kGet);
  if (std::holds_alternative<Watching>(state_) && checked) {  // A body that ended at once.
    if (OnStreamData(now, checked->body)) OnStreamEnd(now, {});
    return;
  }
  stalls_at_.reset();
  if (std::holds_alternative<Discovering>(state_)) {
    OnDiscovery(now, checked);
  } else if (checked) {
    OnListReply(now, *checked);
  } else if (HasVersions() && checked.error().code == ErrorCode::kNotFound) {
    OnNotServed(now, checked.error());
  } else if (std::holds_alternative<Listing>(state_)) {
    OnListError(now, checked.error());
  } else {
    const bool version_is_fine =
        checked.error().code != ErrorCode::kNotFound && checked.error().code != ErrorCode::kInvalid;
    OnWatchError(now, checked.error(), version_is_fine ? Then::kGoOn : Then::kListAgain);
  }
}

// The first 404 is normal in an upgrade of the server, or finds the served version. Another one
// without a good watch in between is an error. Its cause is an instance of another version, or a
// proxy that forwards lists but no watches.
void Reflector::OnNotServed(TimePoint now, const Error& error) {
  if (std::exchange(searched_, true)) {
    BackOff(now, error, Then::kListAgain);
  } else {
    Relist();
  }
  state_.emplace<Discovering>(VersionSearch(options_.resource, options_.versions));
}

void Reflector::OnDiscovery(TimePoint now, const Result<http::Response>& reply) {
  const Result<std::optional<Resource>> found = std::get<Discovering>(state_).search.OnReply(reply);
  if (!found) {
    is_served_ = is_served_ && found.error().code != ErrorCode::kNotFound;
    BackOff(now, found.error(), Then::kGoOn);
    return;
  }
  if (!*found) return;
  is_served_ = true;
  if (resource_ != **found) {
    logger_.Info("Reading a resource in the version that is served",
                 {{"resource", resource_.QualifiedName()}, {"version", (**found).version}});
  }
  resource_ = **found;
  Relist();
}

void Reflector::OnListError(TimePoint now, const Error& error) {
  const Listing* list = std::get_if<Listing>(&state_);
  const bool had_pages = list != nullptr && !list->continue_token.empty();
  switch (error.code) {
    case ErrorCode::kGone:
      // The pages took longer than the server keeps their version. Its Status offers a token that
      // continues with another version, but a mixture is useless. client-go requests one page, too.
      in_one_page_ = had_pages;
      OnGone(now, error);
      return;
    case ErrorCode::kTooLarge:
      // Requests the same page at once, with fewer objects. No pause, because that ends soon.
      if (!in_one_page_ && page_.Shrink()) return;
      in_one_page_ = false;
      BackOff(now, error, Then::kListAgain);
      return;
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kTooManyRequests:
      BackOff(now, error, Then::kGoOn);
      return;
    default:
      BackOff(now, error, Then::kListAgain);
      return;
  }
}

void Reflector::OnWatchError(TimePoint now, const Error& error, Then then) {
  if (error.code == ErrorCode::kGone) {
    OnGone(now, error);
  } else {
    BackOff(now, error, then);
  }
}

// The first 410 is normal. Another one without a good watch in between is not. Backs off, because a
// server may answer every request with it.
void Reflector::OnGone(TimePoint now, const Error& error) {
  if (std::exchange(gone_, true)) {
    BackOff(now, error, Then::kListAgain);
    return;
  }
  logger_.Info("Listing again, because the resource version is too old",
               {{"resource", resource_.QualifiedName()}, {"err", error.message}});
  Relist();
}

void Reflector::OnListReply(TimePoint now, const http::Response& reply) {
  Listing& list = std::get<Listing>(state_);
  const Result<void> taken = TakePage(list, reply.body);
  if (!taken) {
    // A bad answer says nothing about the request, so the code is not kInvalid.
    BackOff(now, Unavailable("read the list: " + taken.error().message), Then::kListAgain);
    return;
  }
  if (!healthy_since_) healthy_since_ = now;
  if (!list.continue_token.empty()) return;

  if (IsOlder(list.version, resource_version_)) {
    ++versions_gone_back_;
    logger_.Warning("The API server's versions went backwards, as after a restore of etcd",
                    {{"resource", resource_.QualifiedName()},
                     {"before", resource_version_},
                     {"after", list.version}});
  }
  sink_.EndReplace(list.version);
  resource_version_ = list.version;
  has_synced_ = true;
  current_at_ = now;
  proven_at_ = now;
  in_one_page_ = false;
  empty_watches_ = 0;
  state_ = Watching();
  if (healed_by_ == HealedBy::kList) Recovered();
}

Result<void> Reflector::TakePage(Listing& list, std::string_view body) {
  const ListPage page = TRY(ReadListPage(body));
  if (page.kind != resource_.kind + "List") {
    return Invalid("its kind is \"" + page.kind + "\", not " + resource_.kind + "List");
  }
  const bool first = list.continue_token.empty();
  if (first) {
    // A watch from no version, or from "0", begins with events in any order.
    if (page.resource_version.empty() || page.resource_version == "0") {
      return Invalid("it has no resourceVersion");
    }
    // The first page's version counts. If later pages are newer, the watch repeats the changes.
    list.version = page.resource_version;
    sink_.BeginReplace();
  } else if (page.continue_token == list.continue_token) {
    return Invalid("a page leads to itself");
  }
  for (const std::string_view item : page.items) {
    sink_.ReplaceAdd(TRY(json::ParseRepaired(parser_, item)));
  }
  list.continue_token = page.continue_token;
  if (!in_one_page_) page_.OnPage(body.size());
  return {};
}

std::optional<Reflector::TimePoint> Reflector::CurrentAsOf(TimePoint now) const {
  if (!has_synced_) return {};
  const auto* const watch = std::get_if<Watching>(&state_);
  const bool is_open = watch != nullptr && stalls_at_ && watch->opened;
  return std::min(is_open ? now : current_at_, proven_at_ + kProvenFor);
}

bool Reflector::HasCaughtUp(TimePoint now) const {
  const auto* const watch = std::get_if<Watching>(&state_);
  return watch != nullptr && stalls_at_ && watch->opened &&
         now - *watch->opened >= kCatchesUpWithin;
}

bool Reflector::OnStreamData(TimePoint now, std::string_view bytes) {
  auto* const watch = std::get_if<Watching>(&state_);
  if (!stalls_at_ || watch == nullptr) return false;
  if (!watch->opened) watch->opened = now;
  if (healed_by_ == HealedBy::kOpenStream) Recovered();
  while (!bytes.empty()) {
    const Scanner::Result scanned = watch->scanner.Scan(bytes);
    std::string_view piece = bytes.substr(0, scanned.used);
    bytes.remove_prefix(scanned.used);
    // Skips the newline after the previous frame, and blank lines of a proxy.
    if (watch->buffer.empty())
      piece.remove_prefix(std::min(piece.find_first_not_of(" \t\r\n"), piece.size()));

    if (scanned.found == Scanner::Found::kBad) {
      EndStream(now, Unavailable("the watch delivers what is not JSON"), Then::kListAgain);
      return false;
    }
    if (watch->buffer.size() + piece.size() > kFrameMax) {
      EndStream(now, Unavailable("the watch delivers an event of more than 16 MiB"),
                Then::kListAgain);
      return false;
    }
    if (scanned.found == Scanner::Found::kValue && watch->buffer.empty()) {
      if (!OnFrame(now, *watch, piece)) return false;
      continue;
    }
    watch->buffer += piece;
    if (scanned.found == Scanner::Found::kMore) break;
    const std::string frame = std::exchange(watch->buffer, std::string());
    if (!OnFrame(now, *watch, frame)) return false;
  }
  if (!LacksProof(now)) return true;
  EndWithoutProof(now);
  return false;
}

bool Reflector::OnFrame(TimePoint now, Watching& watch, std::string_view frame) {
  const Result<json::View> event = json::ParseRepaired(parser_, frame);
  if (event && (*event)["type"].AsString() == "ERROR") {
    const Error error = StatusError((*event)["object"], 0);
    // A server that is too busy, or refuses access, still knows the version.
    const bool version_is_fine = error.code == ErrorCode::kTooManyRequests ||
                                 error.code == ErrorCode::kForbidden ||
                                 error.code == ErrorCode::kUnauthorized;
    EndStream(now, error, version_is_fine ? Then::kGoOn : Then::kListAgain);
    return false;
  }
  const Result<void> taken = event ? TakeEvent(now, *event) : tl::unexpected(event.error());
  if (!taken) {
    EndStream(now, Unavailable("read an event: " + taken.error().message), Then::kListAgain);
    return false;
  }
  ++watch.frames;
  watch.delivered_object |= (*event)["type"].AsString() != "BOOKMARK";
  current_at_ = now;
  empty_watches_ = 0;
  Prosper(now, watch);
  stalls_at_ = std::min(now + options_.stall_timeout, watch.hard_deadline);
  Recovered();
  return true;
}

Result<void> Reflector::TakeEvent(TimePoint now, json::View event) {
  if (event["type"].IsNull()) return Invalid("it is no event");
  const std::string_view type = event["type"].AsString();
  const json::View object = event["object"];
  const std::string version(object["metadata"]["resourceVersion"].AsString());
  if (type == "ADDED" || type == "MODIFIED" || type == "DELETED") {
    const std::string_view kind = object["kind"].AsString();
    if (!kind.empty() && kind != resource_.kind) {
      return Invalid("its object is a " + std::string(kind));
    }
    if (version.empty()) return Invalid("its object has no resourceVersion");
    if (IsOlder(version, resource_version_)) {
      ++versions_gone_back_;
      return Invalid("it goes back from version " + resource_version_ + " to " + version);
    }
    // The version changes after the store does: if the sink never returns, no change is skipped.
    sink_.Apply(object, type == "DELETED");
    resource_version_ = version;
    proven_at_ = now;
    return {};
  }
  if (type != "BOOKMARK" && !std::exchange(unknown_type_logged_, true)) {
    logger_.Warning("Skipping watch events of an unknown type",
                    {{"resource", resource_.QualifiedName()}, {"type", std::string(type)}});
  }
  // One that goes back is ignored, and proves nothing.
  if (IsOlder(version, resource_version_)) return {};
  if (type == "BOOKMARK" && !version.empty()) {
    sink_.Advance(version);
    resource_version_ = version;
    proven_at_ = now;
  } else if (IsWellFormedVersion(version)) {
    resource_version_ = version;
  }
  return {};
}

void Reflector::OnStreamEnd(TimePoint now, const Result<void>& result) {
  auto* const watch = std::get_if<Watching>(&state_);
  if (!stalls_at_ || watch == nullptr) return;
  if (!watch->opened) watch->opened = now;
  const nanoseconds lived = now - watch->started;
  // A watch that delivered a change goes on after it, so that a connection that is cut again and
  // again makes no view old.
  if (!result && !watch->delivered_object && lived < kVeryShort) {
    stalls_at_.reset();
    OnWatchError(now, result.error(), Then::kGoOn);
    return;
  }
  const bool empty = watch->frames == 0;
  // A connection that was cut says nothing about the version.
  empty_watches_ = result && empty && lived < kShort ? empty_watches_ + 1 : 0;
  const bool expired = empty_watches_ >= kEmptyWatchesMax;
  if (empty && lived < kVeryShort) {
    EndStream(now, Unavailable("the watch ended at once, without an event"),
              expired ? Then::kListAgain : Then::kGoOn);
    return;
  }
  stalls_at_.reset();
  current_at_ = now;
  if (!result) OnCut(lived, result.error());
  Prosper(now, *watch);
  Recovered();
  short_watches_ = lived < kVeryShort ? short_watches_ + 1 : 0;
  if (short_watches_ > kShortWatchesMax) retry_at_ = watch->started + kVeryShort;
  if (expired) OnGone(now, Unavailable("its watches end soon, without an event"));
}

// Load balancers cut connections that are old or idle. The watch is renewed as usual, and only the
// first time is logged.
void Reflector::OnCut(nanoseconds lived, const Error& error) {
  if (std::exchange(cut_logged_, true)) return;
  logger_.Info("Renewing a watch whose connection was cut. Later cuts are not logged",
               {{"resource", resource_.QualifiedName()},
                {"seconds", std::to_string(lived / seconds(1))},
                {"err", error.message}});
}

// Records success: the watch delivered an event, or lasted.
void Reflector::Prosper(TimePoint now, const Watching& watch) {
  if (!healthy_since_) healthy_since_ = now;
  if (now - watch.started < kShort) return;
  gone_ = false;
  searched_ = false;
}

void Reflector::EndStream(TimePoint now, const Error& error, Then then) {
  stalls_at_.reset();
  if (auto* const watch = std::get_if<Watching>(&state_)) watch->buffer = std::string();
  OnWatchError(now, error, then);
  healed_by_ = HealedBy::kFrame;
}

void Reflector::Relist() {
  state_ = Listing();
  empty_watches_ = 0;
  list_again_ = false;
}

void Reflector::BackOff(TimePoint now, const Error& error, Then then) {
  if (!failing_since_) failing_since_ = now;
  Report(error);
  if (healthy_since_ && now - *healthy_since_ >= kHealthy) backoff_.Reset();
  healthy_since_.reset();
  const bool do_without = problem_.kind == Kind::kForbidden && !options_.cost_without.empty();
  const bool for_people = problem_.kind != Kind::kUnavailable && !do_without;
  const nanoseconds delay = backoff_.Next(do_without ? kBackoffWithout : kBackoff);
  const nanoseconds least = for_people ? std::min(delay, kMostForPeople) : delay;
  const nanoseconds asked = error.retry_after.value_or(seconds(0));
  // One after the other: compilers differ in the order of arguments, and so would simulated runs.
  const nanoseconds own = base::Jittered(least, kJitter, random_);
  const nanoseconds servers = base::Jittered(asked, kAskedJitter, random_);
  retry_at_ = now + std::max(own, servers);
  if (then == Then::kListAgain) Relist();
}

// Returns what is wrong and what to do, for an administrator.
std::string Reflector::Advice(const Error& error) const {
  const std::string name = resource_.QualifiedName();
  const std::string said = " (" + error.message + ")";
  switch (KindOf(error)) {
    case Kind::kForbidden: {
      if (std::holds_alternative<Discovering>(state_)) {
        return "let this identity read /apis/" + resource_.group +
               ", as the ClusterRole system:discovery does" + said;
      }
      const std::string where =
          options_.ns.empty() ? "at cluster scope" : "in namespace " + options_.ns;
      return std::string("grant ") + (std::holds_alternative<Watching>(state_) ? "watch" : "list") +
             " on " + name + " " + where + " to this identity" + said;
    }
    case Kind::kNotServed:
      // Only kinds that Kubernetes brings have several versions.
      if (options_.versions.size() > 1) {
        return "enable one version of " + name + " at the API server" + said;
      }
      return "install the CRD of " + name + ", or enable " + resource_.ApiVersion() +
             " at the API server" + said;
    default:
      return error.message;
  }
}

void Reflector::Report(const Error& error) {
  const bool watch = std::holds_alternative<Watching>(state_);
  problem_ = {.kind = KindOf(error), .message = Advice(error)};
  healed_by_ = watch ? HealedBy::kOpenStream : HealedBy::kList;
  const bool known = reported_ == error.code;
  reported_ = error.code;
  const bool for_people = problem_.kind != Kind::kUnavailable;
  const bool do_without = problem_.kind == Kind::kForbidden && !options_.cost_without.empty();
  const base::LogLevel level = known        ? base::LogLevel::kWatches
                               : do_without ? base::LogLevel::kWarning
                               : for_people ? base::LogLevel::kError
                                            : base::LogLevel::kWarning;
  logger_.Log(
      level, watch ? "Cannot watch a resource" : "Cannot list a resource",
      {{"resource", resource_.QualifiedName()},
       {"namespace", options_.ns},
       {"err", problem_.message + (do_without ? "; without it " + options_.cost_without : "")}});
}

void Reflector::Recovered() {
  if (!reported_) return;
  logger_.Info("Resource can be read again",
               {{"resource", resource_.QualifiedName()}, {"namespace", options_.ns}});
  problem_ = {};
  failing_since_.reset();
  reported_.reset();
  healed_by_ = HealedBy::kList;
}

}  // namespace kube
