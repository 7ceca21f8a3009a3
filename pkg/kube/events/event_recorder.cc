#include "pkg/kube/events/event_recorder.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/base/rfc3339.h"
#include "pkg/json/utf8.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using base::ErrorCode;
using json::Value;
using std::chrono::minutes, std::chrono::seconds;

constexpr std::size_t kNoteMax = 1024;      // Limit of the API server, in bytes.
constexpr std::size_t kInstanceMax = 128;   // The same.
constexpr std::size_t kNameMax = 253 - 17;  // Leaves room for ".<16 digits>" in a name.

constexpr minutes kWindow{6};     // Silence that ends a series.
constexpr minutes kHeartbeat{3};  // Between patches of a series. Below the window, so none is lost.
constexpr std::size_t kSeriesMax = 1000;
constexpr double kBurst = 25;
constexpr minutes kRefill{5};  // For one token.
constexpr std::size_t kBucketsMax = 4096;
constexpr std::chrono::milliseconds kPace{50};  // Other writes matter more.
constexpr seconds kTimeout{5};
constexpr seconds kRetry{10};  // Plus or minus a quarter.
constexpr int kAttemptsMax = 12;
constexpr base::BackoffPolicy kMuted = {.first = minutes(1), .most = minutes(60)};
constexpr minutes kReportPace{10};

// An Event is in the namespace of its object. For cluster-scoped objects this is "default".
std::string NamespaceOf(const Event& event) {
  return event.regarding.key.ns.empty() ? "default" : event.regarding.key.ns;
}

Value Encode(const ObjectReference& reference) {
  Value encoded = Value::Object({{"apiVersion", reference.api_version},
                                 {"kind", reference.kind},
                                 {"name", reference.key.name},
                                 {"uid", reference.uid}});
  if (!reference.key.ns.empty()) encoded["namespace"] = reference.key.ns;
  return encoded;
}

Value EncodeSeries(std::int64_t count, base::Clock::WallTime last) {
  return Value::Object({{"count", count}, {"lastObservedTime", base::FormatMicros(last)}});
}

}  // namespace

EventRecorder::EventRecorder(std::string controller, const std::string& instance,
                             const base::Clock& clock, base::Random& random, base::Logger& logger)
    : controller_(std::move(controller)),
      instance_(std::string(json::Prefix(instance, kInstanceMax))),
      clock_(clock),
      random_(random),
      logger_(logger) {}

EventRecorder::EventId EventRecorder::IdOf(const Event& event) {
  std::string all = event.type == EventType::kWarning ? "w" : "n";
  const auto add = [&](const std::string& text) { (all += '\0') += text; };
  const auto add_reference = [&](const ObjectReference& reference) {
    for (const std::string* text : {&reference.api_version, &reference.kind, &reference.key.ns,
                                    &reference.key.name, &reference.uid}) {
      add(*text);
    }
  };
  for (const std::string* text : {&event.reason, &event.action, &event.note}) add(*text);
  add_reference(event.regarding);
  if (event.related) add_reference(*event.related);
  return {.regarding = event.regarding.uid, .hash = std::hash<std::string>()(all)};
}

void EventRecorder::Record(Event event) {
  event.note = std::string(json::Prefix(event.note, kNoteMax));
  const TimePoint now = clock_.Now();
  std::erase_if(series_, [&](const auto& entry) {
    return entry.second.sent == entry.second.count && now - entry.second.seen > kWindow;
  });
  const EventId id = IdOf(event);
  if (const auto again = series_.find(id); again != series_.end()) {
    Series& series = again->second;
    ++series.count;
    series.seen = now;
    series.last = clock_.Wall();
    if (!series.event) series.event = std::make_unique<const Event>(std::move(event));
    return;
  }
  if (IsMuted(NamespaceOf(event))) {
    ++counts_.dropped;  // Mute() has reported it.
    return;
  }
  if (!TakeToken(event.regarding.uid)) {
    Lose(1, ErrorCode::kTooManyRequests, "one object has too many");
    return;
  }
  if (!MakeRoom()) {
    Lose(1, ErrorCode::kTooLarge, "too many wait to be told");
    return;
  }
  std::string name = NewName(event);
  Series series = {.event = std::make_unique<const Event>(std::move(event)),
                   .name = std::move(name),
                   .began = clock_.Wall(),
                   .last = clock_.Wall(),
                   .seen = now,
                   .due = now};
  series_.emplace(id, std::move(series));
}

bool EventRecorder::TakeToken(const Uid& uid) {
  const TimePoint now = clock_.Now();
  const auto refilled = [&](const Bucket& bucket) {
    return bucket.tokens + std::chrono::duration<double>(now - bucket.at) / kRefill;
  };
  if (buckets_.size() >= kBucketsMax) {
    std::erase_if(buckets_, [&](const auto& entry) { return refilled(entry.second) >= kBurst; });
  }
  // An object whose bucket is dropped may send one burst too many.
  if (buckets_.size() >= kBucketsMax) buckets_.erase(buckets_.begin());
  const auto [it, is_new] = buckets_.try_emplace(uid, Bucket{.tokens = kBurst, .at = now});
  Bucket& bucket = it->second;
  bucket = {.tokens = std::min(kBurst, refilled(bucket)), .at = now};
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

// Drops the series that has been silent longest, of those that were sent completely.
bool EventRecorder::MakeRoom() {
  if (series_.size() < kSeriesMax) return true;
  auto oldest = series_.end();
  for (auto it = series_.begin(); it != series_.end(); ++it) {
    if (it->second.sent < it->second.count) continue;
    if (oldest == series_.end() || it->second.seen < oldest->second.seen) oldest = it;
  }
  if (oldest == series_.end()) return false;
  series_.erase(oldest);
  return true;
}

bool EventRecorder::IsMuted(const std::string& ns) {
  const TimePoint now = clock_.Now();
  // The delay is remembered for the same time again, so that the next one is longer.
  std::erase_if(muted_, [&](const auto& entry) {
    return entry.second.until + entry.second.backoff.delay() <= now;
  });
  const auto muted = muted_.find(ns);
  return muted != muted_.end() && now < muted->second.until;
}

// A random number is unique to its process. A time is not.
std::string EventRecorder::NewName(const Event& event) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name = event.regarding.key.name.substr(0, kNameMax);
  while (!name.empty() && std::isalnum(static_cast<unsigned char>(name.back())) == 0) {
    name.pop_back();
  }
  name += '.';
  std::uint64_t number = random_.Next();
  for (int i = 0; i < 16; ++i, number >>= 4U) name += kHex[number & 15U];
  return name;
}

http::Request EventRecorder::RequestFor(const Series& series) const {
  const Event& event = *series.event;
  const std::string ns = NamespaceOf(event);
  if (series.sent > 0) {
    return MergePatchRequest(kEvents, {.ns = ns, .name = series.name},
                             Value::Object({{"series", EncodeSeries(series.count, series.last)}}));
  }
  Value object =
      Value::Object({{"apiVersion", kEvents.ApiVersion()},
                     {"kind", kEvents.kind},
                     {"metadata", Value::Object({{"name", series.name}, {"namespace", ns}})},
                     {"eventTime", base::FormatMicros(series.began)},
                     {"reportingController", controller_},
                     {"reportingInstance", instance_},
                     {"type", event.type == EventType::kWarning ? "Warning" : "Normal"},
                     {"reason", event.reason},
                     {"action", event.action},
                     {"note", event.note},
                     {"regarding", Encode(event.regarding)}});
  if (event.related) object["related"] = Encode(*event.related);
  if (series.count > 1) object["series"] = EncodeSeries(series.count, series.last);
  return CreateRequest(kEvents, ns, object);
}

EventRecorder::Next EventRecorder::Poll() {
  Next next = {.until = TimePoint::max()};
  if (under_way_ != series_.end()) return next;
  auto first = series_.end();
  for (auto it = series_.begin(); it != series_.end(); ++it) {
    if (it->second.sent == it->second.count) continue;
    if (first == series_.end() || it->second.due < first->second.due) first = it;
  }
  if (first == series_.end()) return next;
  const TimePoint now = clock_.Now();
  next.until = std::max(first->second.due, not_before_);
  if (next.until > now) return next;
  under_way_ = first;
  not_before_ = now + kPace;
  first->second.sending = first->second.count;
  next.request = RequestFor(first->second);
  next.request->timeout = kTimeout;
  return next;
}

void EventRecorder::OnReply(base::Result<http::Response> reply) {
  CHECK(under_way_ != series_.end());
  const auto entry = std::exchange(under_way_, series_.end());
  const bool creates = entry->second.sent == 0;
  const auto checked =
      CheckStatus(std::move(reply), creates ? http::Method::kPost : http::Method::kPatch);
  // The name is unique: an attempt whose reply was lost has created the object.
  const bool is_there = !checked && creates && checked.error().code == ErrorCode::kAlreadyExists;
  if (checked || is_there) {
    muted_.erase(NamespaceOf(*entry->second.event));
    OnSent(entry->second);
  } else {
    OnError(entry, checked.error());
  }
}

void EventRecorder::OnSent(Series& series) {
  ++counts_.sent;
  reported_.reset();
  failed_.clear();
  series.sent = series.sending;
  if (series.sent == series.count) series.event.reset();
  series.failures = 0;
  // The first repetition is sent at once. Later counts may wait.
  series.due = clock_.Now() + (series.sent > 1 ? kHeartbeat : minutes(0));
}

void EventRecorder::OnError(AllSeries::iterator entry, const base::Error& error) {
  Series& series = entry->second;
  const std::string ns = NamespaceOf(*series.event);
  if (series.sent > 0 && ProvesAbsence(error, kEvents, series.name)) {
    series.sent = 0;  // Events expire. This one starts again.
    series.name = NewName(*series.event);
    return;
  }
  switch (error.code) {
    case ErrorCode::kForbidden:
      Mute(ns, error);
      return;
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kGone:
      break;
    default: {
      if (ProvesAbsence(error, kNamespaces, ns)) break;
      if (++series.failures >= kAttemptsMax) break;
      const double share = 0.75 + random_.Fraction() / 2;
      const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(kRetry * share);
      const TimePoint again = clock_.Now() + std::max<std::chrono::nanoseconds>(
                                                 pause, error.retry_after.value_or(seconds(0)));
      series.due = again;
      const bool is_away = !failed_.empty() && failed_ != series.name;
      failed_ = series.name;
      if (is_away || error.retry_after) not_before_ = again;
      return;
    }
  }
  series_.erase(entry);
  Lose(1, error.code, error.message);
}

void EventRecorder::Mute(const std::string& ns, const base::Error& error) {
  Muted& muted = muted_[ns];
  muted.until = clock_.Now() + muted.backoff.Next(kMuted);
  const auto lost = std::erase_if(series_, [&](const auto& entry) {
    return entry.second.event && NamespaceOf(*entry.second.event) == ns;
  });
  Lose(lost, error.code, error.message);
}

void EventRecorder::Lose(std::uint64_t events, ErrorCode code, const std::string& why) {
  counts_.dropped += events;
  const TimePoint now = clock_.Now();
  if (reported_ == code || now < next_report_) return;
  reported_ = code;
  next_report_ = now + kReportPace;
  const char* const help = code == ErrorCode::kForbidden
                               ? "grant create and patch on events in events.k8s.io; they are "
                                 "tried again by themselves"
                               : "status says the same";
  logger_.Warning("Events were lost",
                  {{"dropped", std::to_string(counts_.dropped)}, {"err", why}, {"help", help}});
}

}  // namespace kube
