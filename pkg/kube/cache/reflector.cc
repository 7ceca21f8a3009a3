#include "pkg/kube/cache/reflector.h"

#include <algorithm>
#include <utility>

#include "pkg/json/repair.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using base::Error;
using base::ErrorCode;
using base::Fail;
using base::Result;
using json::Scanner;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Kind = ReflectorProblem::Kind;

// Back-off: client-go's 0.8 s and doubling. Its jitter adds up to as much again; so does ours, and
// to stay below 30 s with it, the doubling ends at half of that.
constexpr nanoseconds kBackOffFirst = milliseconds(800);
constexpr nanoseconds kBackOffMost = seconds(15);
// What only an administrator can put right is looked at often enough that it is noticed soon.
constexpr nanoseconds kBackOffMostForPeople = seconds(5);
// Unless we can do without, and may have to for ever.
constexpr nanoseconds kBackOffMostWithout = std::chrono::minutes(10);
constexpr nanoseconds kHealthy =
    std::chrono::minutes(2);  // After that a failure is a first one again.

constexpr seconds kWatchTimeoutMin{300};
constexpr int kWatchTimeoutSpread = 301;  // Up to 600 s, at random: watches must not end together.
constexpr seconds kDriverGrace{5};        // The caller's own timeout comes first.
constexpr nanoseconds kVeryShort = seconds(1);  // A watch that ends before it, empty, has failed.
constexpr nanoseconds kShort = seconds(2);
constexpr int kEmptyWatchesMax = 3;           // Then the version is taken for expired.
constexpr int kShortWatchesMax = 3;           // Then the next ones begin at most once a second.
constexpr std::size_t kFrameMax = 16U << 20;  // etcd takes 1.5 MB; client-go reads 16 MiB as well.

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
      page_(options_.page_size) {
  if (!options_.versions.empty()) search_.emplace(resource_, options_.versions);
}

Reflector::Next Reflector::Poll(TimePoint now) {
  Next next;
  if (under_way_) {
    if (now < deadline_) return {.until = deadline_};
    next.abandon = true;
    OnStall(now);
  }
  if (now < retry_at_) {
    next.until = retry_at_;
    return next;
  }
  next.kind = phase_ == Phase::kWatch ? Next::Kind::kStream : Next::Kind::kSend;
  next.request = Start(now);
  return next;
}

http::Request Reflector::Start(TimePoint now) {
  under_way_ = true;
  started_ = now;
  if (phase_ != Phase::kWatch) {
    if (phase_ == Phase::kList && continue_token_.empty()) ++lists_;
    http::Request request =
        phase_ == Phase::kDiscover
            ? search_->Next()
            : ListRequest(resource_, {.ns = options_.ns,
                                      .label_selector = options_.label_selector,
                                      .field_selector = options_.field_selector,
                                      .continue_token = continue_token_,
                                      .limit = in_one_page_ ? 0 : page_.objects(),
                                      .bytes_max = page_.bytes_max()});
    deadline_ = now + request.timeout + kDriverGrace;
    return request;
  }
  ++watches_;
  stream_version_ = resource_version_;
  buffer_.clear();
  scanner_ = Scanner();
  frames_ = 0;
  const auto extra = static_cast<int>(random_.Fraction() * kWatchTimeoutSpread);
  http::Request request = WatchRequest(resource_, {.ns = options_.ns,
                                                   .label_selector = options_.label_selector,
                                                   .field_selector = options_.field_selector,
                                                   .resource_version = resource_version_,
                                                   .timeout = kWatchTimeoutMin + seconds(extra)});
  hard_deadline_ = now + request.timeout + kDriverGrace;
  deadline_ = std::min(now + options_.stall_timeout, hard_deadline_);
  return request;
}

// A proxy keeps the connection while what is behind it is dead. A watch is renewed without a word
// of complaint; but if its renewals stay silent too, the version may be what the server cannot
// serve.
void Reflector::OnStall(TimePoint now) {
  under_way_ = false;
  if (phase_ != Phase::kWatch) {
    OnListError(now, {.code = ErrorCode::kDeadlineExceeded, .message = "no reply"});
    return;
  }
  logger_.Info("Renewing a watch that shows no sign of life",
               {{"resource", resource_.QualifiedName()}});
  empty_watches_ = frames_ == 0 ? empty_watches_ + 1 : 0;
  if (empty_watches_ >= kEmptyWatchesMax) Relist();
}

void Reflector::OnReply(TimePoint now, Result<http::Response> reply) {
  if (!under_way_) return;
  if (reply) last_progress_ = now;
  const Result<http::Response> checked = CheckStatus(std::move(reply), http::Method::kGet);
  if (phase_ == Phase::kWatch && checked) {  // A body that was over at once.
    if (OnStreamData(now, checked->body)) OnStreamEnd(now, {});
    return;
  }
  under_way_ = false;
  if (phase_ == Phase::kDiscover) {
    OnDiscovery(now, checked);
  } else if (checked) {
    OnListReply(now, *checked);
  } else if (search_ && checked.error().code == ErrorCode::kNotFound) {
    OnNotServed(now, checked.error());
  } else if (phase_ == Phase::kList) {
    OnListError(now, checked.error());
  } else {
    const bool version_is_fine =
        checked.error().code != ErrorCode::kNotFound && checked.error().code != ErrorCode::kInvalid;
    OnWatchError(now, checked.error(), version_is_fine ? Then::kGoOn : Then::kListAgain);
  }
}

// The first 404 is part of an upgrade of the server, or says which version it has at all. Another
// one without a good watch in between is not: it may come from an instance of another version, or
// from a proxy that lets lists through and watches not.
void Reflector::OnNotServed(TimePoint now, const Error& error) {
  if (std::exchange(searched_, true)) {
    BackOff(now, error, Then::kListAgain);
  } else {
    Relist();
  }
  phase_ = Phase::kDiscover;
}

void Reflector::OnDiscovery(TimePoint now, const Result<http::Response>& reply) {
  const Result<std::optional<Resource>> found = search_->OnReply(reply);
  if (!found) {
    BackOff(now, found.error(), Then::kGoOn);
    return;
  }
  if (!*found) return;
  if (resource_ != **found) {
    logger_.Info("Reading the version of a resource that is served",
                 {{"resource", resource_.QualifiedName()}, {"version", (**found).version}});
  }
  resource_ = **found;
  Relist();
}

void Reflector::OnListError(TimePoint now, const Error& error) {
  const bool had_pages = !continue_token_.empty();
  switch (error.code) {
    case ErrorCode::kGone:
      // The pages took longer than the server keeps their version. Its Status offers a token that
      // goes on with another version; a mixture is of no use to us. client-go asks for one page,
      // too.
      in_one_page_ = had_pages;
      OnGone(now, error);
      return;
    case ErrorCode::kTooLarge:
      // The same page at once, of fewer objects. That ends, and so it needs no pause.
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

// The first 410 is part of normal life. Another one without a good watch in between is not, and a
// server that says nothing else must not be asked as fast as it answers.
void Reflector::OnGone(TimePoint now, const Error& error) {
  if (std::exchange(gone_, true)) {
    BackOff(now, error, Then::kListAgain);
    return;
  }
  logger_.Info("Listing again, for the version is too old",
               {{"resource", resource_.QualifiedName()}, {"err", error.message}});
  Relist();
}

void Reflector::OnListReply(TimePoint now, const http::Response& reply) {
  const Result<void> taken = TakePage(reply.body);
  if (!taken) {
    // That the server cannot answer properly says nothing about the request: not kInvalid.
    BackOff(now, Unavailable("read the list: " + taken.error().message), Then::kListAgain);
    return;
  }
  if (!healthy_since_) healthy_since_ = now;
  if (!continue_token_.empty()) return;

  if (GoesBack(list_version_)) {
    ++versions_gone_back_;
    logger_.Warning("The server went back in time, as after a restore of etcd",
                    {{"resource", resource_.QualifiedName()},
                     {"before", resource_version_},
                     {"after", list_version_}});
  }
  sink_.EndReplace(list_version_);
  resource_version_ = list_version_;
  has_synced_ = true;
  in_one_page_ = false;
  empty_watches_ = 0;
  phase_ = Phase::kWatch;
  if (healed_by_ == HealedBy::kList) Recovered();
}

Result<void> Reflector::TakePage(std::string_view body) {
  const ListPage page = TRY(ReadListPage(body));
  if (page.kind != resource_.kind + "List") {
    return Fail(ErrorCode::kInvalid,
                "its kind is \"" + page.kind + "\", not " + resource_.kind + "List");
  }
  const bool first = continue_token_.empty();
  if (first) {
    // A watch from no version, or from "0", begins with events in no order.
    if (page.resource_version.empty() || page.resource_version == "0") {
      return Fail(ErrorCode::kInvalid, "it has no resourceVersion");
    }
    // The first page's version counts: should later pages be newer, the watch tells the rest.
    list_version_ = page.resource_version;
    sink_.BeginReplace();
  } else if (page.continue_token == continue_token_) {
    return Fail(ErrorCode::kInvalid, "a page leads to itself");
  }
  for (const std::string_view item : page.items) TRY(AddItem(item));
  continue_token_ = page.continue_token;
  if (!in_one_page_) page_.OnPage(body.size());
  return {};
}

Result<void> Reflector::AddItem(std::string_view item) {
  const json::View object = TRY(json::ParseRepaired(parser_, item));
  sink_.ReplaceAdd(object);
  return {};
}

bool Reflector::OnStreamData(TimePoint now, std::string_view bytes) {
  if (!under_way_ || phase_ != Phase::kWatch) return false;
  last_progress_ = now;
  if (healed_by_ == HealedBy::kOpenStream) Recovered();
  while (!bytes.empty()) {
    const Scanner::Result scanned = scanner_.Scan(bytes);
    std::string_view piece = bytes.substr(0, scanned.used);
    bytes.remove_prefix(scanned.used);
    // Without the newline that ends the frame before, and the blank lines of a proxy.
    if (buffer_.empty())
      piece.remove_prefix(std::min(piece.find_first_not_of(" \t\r\n"), piece.size()));

    if (scanned.found == Scanner::Found::kBad) {
      EndStream(now, Unavailable("the watch delivers what is not JSON"), Then::kListAgain);
      return false;
    }
    if (buffer_.size() + piece.size() > kFrameMax) {
      EndStream(now, Unavailable("the watch delivers an event of more than 16 MiB"),
                Then::kListAgain);
      return false;
    }
    if (scanned.found == Scanner::Found::kValue && buffer_.empty()) {
      if (!OnFrame(now, piece)) return false;
      continue;
    }
    buffer_ += piece;
    if (scanned.found == Scanner::Found::kMore) break;
    const std::string frame = std::exchange(buffer_, std::string());
    if (!OnFrame(now, frame)) return false;
  }
  return true;
}

bool Reflector::OnFrame(TimePoint now, std::string_view frame) {
  const Result<json::View> event = json::ParseRepaired(parser_, frame);
  if (event && (*event)["type"].AsString() == "ERROR") {
    const Error error = StatusError((*event)["object"], 0);
    // A server that is too busy, or does not let us in, still knows our version.
    const bool version_is_fine = error.code == ErrorCode::kTooManyRequests ||
                                 error.code == ErrorCode::kForbidden ||
                                 error.code == ErrorCode::kUnauthorized;
    EndStream(now, error, version_is_fine ? Then::kGoOn : Then::kListAgain);
    return false;
  }
  const Result<void> taken = event ? TakeEvent(*event) : tl::unexpected(event.error());
  if (!taken) {
    EndStream(now, Unavailable("read an event: " + taken.error().message), Then::kListAgain);
    return false;
  }
  ++frames_;
  empty_watches_ = 0;
  Prosper(now);
  deadline_ = std::min(now + options_.stall_timeout, hard_deadline_);
  Recovered();
  return true;
}

Result<void> Reflector::TakeEvent(json::View event) {
  if (event["type"].IsNull()) return Fail(ErrorCode::kInvalid, "it is no event");
  const std::string_view type = event["type"].AsString();
  const json::View object = event["object"];
  const std::string version(object["metadata"]["resourceVersion"].AsString());
  if (type == "ADDED" || type == "MODIFIED" || type == "DELETED") {
    const std::string_view kind = object["kind"].AsString();
    if (!kind.empty() && kind != resource_.kind) {
      return Fail(ErrorCode::kInvalid, "its object is a " + std::string(kind));
    }
    if (version.empty()) return Fail(ErrorCode::kInvalid, "its object has no resourceVersion");
    if (GoesBack(version)) {
      ++versions_gone_back_;
      return Fail(ErrorCode::kInvalid,
                  "it goes back from version " + resource_version_ + " to " + version);
    }
    // The version follows what is in the store: should the sink never return, nothing is skipped.
    sink_.Apply(object, type == "DELETED");
    resource_version_ = version;
    return {};
  }
  if (type != "BOOKMARK" && !std::exchange(unknown_type_logged_, true)) {
    logger_.Warning("Skipping watch events of an unknown type",
                    {{"resource", resource_.QualifiedName()}, {"type", std::string(type)}});
  }
  if (GoesBack(version)) {
    ++versions_gone_back_;
  } else if (type == "BOOKMARK" && !version.empty()) {
    sink_.Advance(version);
    resource_version_ = version;
  } else if (IsWellFormedVersion(version)) {
    resource_version_ = version;
  }
  return {};
}

void Reflector::OnStreamEnd(TimePoint now, const Result<void>& result) {
  if (!under_way_ || phase_ != Phase::kWatch) return;
  const nanoseconds lived = now - started_;
  if (!result && lived < kVeryShort) {
    under_way_ = false;
    OnWatchError(now, result.error(), Then::kGoOn);
    return;
  }
  const bool empty = frames_ == 0;
  // A connection that was cut says nothing about the version.
  empty_watches_ = result && empty && lived < kShort ? empty_watches_ + 1 : 0;
  const bool expired = empty_watches_ >= kEmptyWatchesMax;
  if (empty && lived < kVeryShort) {
    EndStream(now, Unavailable("the watch ended at once, without an event"),
              expired ? Then::kListAgain : Then::kGoOn);
    return;
  }
  under_way_ = false;
  if (!result) OnCut(lived, result.error());
  Prosper(now);
  Recovered();
  short_watches_ = lived < kVeryShort ? short_watches_ + 1 : 0;
  if (short_watches_ > kShortWatchesMax) retry_at_ = started_ + kVeryShort;
  if (expired) OnGone(now, Unavailable("its watches end soon, without an event"));
}

// Load balancers end connections when they are so old, or idle for so long: a renewal like any
// other, and no news the second time.
void Reflector::OnCut(nanoseconds lived, const Error& error) {
  if (std::exchange(cut_logged_, true)) return;
  logger_.Info("Renewing a watch whose connection was cut, now and whenever that happens",
               {{"resource", resource_.QualifiedName()},
                {"seconds", std::to_string(lived / seconds(1))},
                {"err", error.message}});
}

// The watch delivered something, or lasted.
void Reflector::Prosper(TimePoint now) {
  if (!healthy_since_) healthy_since_ = now;
  if (now - started_ < kShort) return;
  gone_ = false;
  searched_ = false;
}

void Reflector::EndStream(TimePoint now, const Error& error, Then then) {
  under_way_ = false;
  buffer_ = std::string();
  OnWatchError(now, error, then);
  healed_by_ = HealedBy::kFrame;
}

void Reflector::Relist() {
  phase_ = Phase::kList;
  continue_token_.clear();
  empty_watches_ = 0;
}

void Reflector::BackOff(TimePoint now, const Error& error, Then then) {
  Report(error);
  if (healthy_since_ && now - *healthy_since_ >= kHealthy) back_off_ = nanoseconds(0);
  healthy_since_.reset();
  const bool do_without = problem_.kind == Kind::kForbidden && !options_.cost_without.empty();
  const bool for_people = problem_.kind != Kind::kUnavailable && !do_without;
  back_off_ =
      std::clamp(back_off_ * 2, kBackOffFirst, do_without ? kBackOffMostWithout : kBackOffMost);
  const nanoseconds base = for_people ? std::min(back_off_, kBackOffMostForPeople) : back_off_;
  const nanoseconds asked = error.retry_after.value_or(seconds(0));
  retry_at_ = now + std::max(Jittered(base, 1.0), Jittered(asked, 0.2));
  if (then == Then::kListAgain) Relist();
}

// `least`, plus up to `share` of it.
nanoseconds Reflector::Jittered(nanoseconds least, double share) {
  const double extra = static_cast<double>(least.count()) * share * random_.Fraction();
  return least + nanoseconds(static_cast<nanoseconds::rep>(extra));
}

// What is wrong and what to do, for an administrator.
std::string Reflector::Advice(const Error& error) const {
  const std::string name = resource_.QualifiedName();
  const std::string said = " (" + error.message + ")";
  switch (KindOf(error)) {
    case Kind::kForbidden: {
      if (phase_ == Phase::kDiscover) {
        return "let this identity read /apis/" + resource_.group +
               ", as the ClusterRole system:discovery does" + said;
      }
      const std::string where =
          options_.ns.empty() ? "at cluster scope" : "in namespace " + options_.ns;
      return std::string("grant ") + (phase_ == Phase::kWatch ? "watch" : "list") + " on " + name +
             " " + where + " to this identity" + said;
    }
    case Kind::kNotServed:
      if (search_) return "enable one version of " + name + " at the API server" + said;
      return "install the CRD of " + name + ", or enable " + resource_.ApiVersion() +
             " at the API server" + said;
    default:
      return error.message;
  }
}

void Reflector::Report(const Error& error) {
  const bool watch = phase_ == Phase::kWatch;
  problem_ = {.kind = KindOf(error), .message = Advice(error)};
  healed_by_ = watch ? HealedBy::kOpenStream : HealedBy::kList;
  const bool known = reported_ == error.code;
  reported_ = error.code;
  const bool for_people = problem_.kind != Kind::kUnavailable;
  const bool do_without = problem_.kind == Kind::kForbidden && !options_.cost_without.empty();
  const base::LogLevel level = known        ? base::LogLevel::kDebug
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
  logger_.Info("Reading a resource again",
               {{"resource", resource_.QualifiedName()}, {"namespace", options_.ns}});
  problem_ = {};
  reported_.reset();
  healed_by_ = HealedBy::kList;
}

bool Reflector::GoesBack(std::string_view version) const {
  return IsOlder(version, resource_version_);
}

}  // namespace kube
