// The elector of a leader, against replies of anybody, and two of them against an honest server in
// a network that is not.
#include <deque>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/lease/leader_elector.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fuzz/hostile.h"

namespace {

using base::ErrorCode;
using http::Method;
using kube::LeaderElector;
using Reply = base::Result<http::Response>;

const kube::ObjectKey kLease = {.ns = "ns", .name = "lease"};
const kube::LeaseTiming kTiming = {};

std::chrono::milliseconds AnyPause(fuzz::Input& input) {
  return std::chrono::milliseconds(input.ConsumeBool() ? input.ConsumeIntegralInRange(0, 500)
                                                       : input.ConsumeIntegralInRange(500, 20'000));
}

Reply Missing(int status, const char* reason) {
  const json::Value body =
      json::Value::Object({{"kind", "Status"}, {"code", status}, {"reason", reason}});
  return http::Response{.status = status, .body = json::Serialize(body)};
}

json::Value AnyLease(fuzz::Input& input) {
  json::Value lease;
  lease["metadata"]["resourceVersion"] = std::to_string(input.ConsumeIntegral<std::uint16_t>());
  lease["metadata"]["uid"] = input.PickValueInArray({"1", "2"});
  lease["spec"]["holderIdentity"] = input.PickValueInArray({"me", "other", ""});
  lease["spec"]["leaseDurationSeconds"] = input.ConsumeIntegral<std::int64_t>();
  lease["spec"]["renewTime"] = fuzz::Text(input);
  if (input.ConsumeIntegralInRange(0, 3) == 0) fuzz::Spoil(input, lease);
  return lease;
}

Reply AnyReply(fuzz::Input& input) {
  switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0:
      return base::Fail(
          input.PickValueInArray({ErrorCode::kUnavailable, ErrorCode::kUnknownOutcome,
                                  ErrorCode::kDeadlineExceeded, ErrorCode::kUnauthorized}),
          "no reply");
    case 1:
      return Missing(input.PickValueInArray({401, 403, 404, 409, 422, 429, 500, 503}),
                     input.PickValueInArray({"Conflict", "AlreadyExists", "x"}));
    case 2:
      return http::Response{.status = 200, .body = fuzz::Text(input)};
    default:
      return http::Response{.status = 200, .body = json::Serialize(AnyLease(input))};
  }
}

}  // namespace

// One elector, whatever it is answered:
//  - leads only within `renew_deadline` after it sent a write that was accepted, and never again
//    once its term has ended or it let go;
//  - has one request under way, and sends no more than a few before it waits.
FUZZ_TARGET(lease, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  base::ManualClock clock;
  kube::SeededRandom random(input.ConsumeIntegral<std::uint32_t>());
  kube::RecordingLogger logger;
  LeaderElector elector(kLease, "me", kTiming, clock, random, logger);
  auto may_lead_until = base::Clock::TimePoint::min();
  int at_once = 0;
  bool is_over = false;
  while (input.remaining_bytes() > 0) {
    LeaderElector::Next next = elector.Poll();
    if (!next.request) {
      CHECK(next.until > clock.Now());
      clock.Advance(
          std::max<std::chrono::nanoseconds>(AnyPause(input), std::chrono::nanoseconds(1)));
      at_once = 0;
    } else {
      CHECK(!is_over);
      CHECK(++at_once <= 4);
      const auto sent = clock.Now();
      if (next.request->method != Method::kGet) CHECK(json::Parse(next.request->body));
      CHECK(!elector.Poll().request);
      const auto pause = AnyPause(input);
      if (pause > std::chrono::milliseconds(0)) at_once = 0;
      clock.Advance(pause);
      const Reply reply = AnyReply(input);
      const bool is_accepted =
          next.request->method != Method::kGet && reply && reply->status == 200;
      if (is_accepted) may_lead_until = sent + kTiming.renew_deadline;
      elector.OnReply(reply);
    }
    if (input.ConsumeIntegralInRange(0, 63) == 0) {
      static_cast<void>(elector.Release());
      is_over = true;
    }
    CHECK(!elector.IsLeader() || clock.Now() < may_lead_until);
    is_over = is_over || elector.TermEnded();
    CHECK(!(is_over && elector.IsLeader()));
  }
}

namespace {

// A Lease as the API server keeps it.
class LeaseServer {
 public:
  Reply Handle(const http::Request& request) {
    if (request.method == Method::kGet) return Stored();
    json::Value object = *json::Parse(request.body);
    if (request.method == Method::kPost) {
      if (!lease_.IsNull()) return Missing(409, "AlreadyExists");
      object["metadata"]["uid"] = "uid";
    } else {
      if (lease_.IsNull()) return Missing(404, "NotFound");
      const bool is_current =
          object["metadata"]["resourceVersion"] == lease_["metadata"]["resourceVersion"];
      if (!is_current) return Missing(409, "Conflict");
    }
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(object);
    return Stored();
  }

 private:
  Reply Stored() const {
    if (lease_.IsNull()) return Missing(404, "NotFound");
    return http::Response{.status = 200, .body = json::Serialize(lease_)};
  }
  json::Value lease_;
  int version_ = 0;
};

struct Replica {
  Replica(const char* name, std::uint64_t seed, const base::Clock& clock)
      : random(seed), elector(kLease, name, kTiming, clock, random, logger) {}
  kube::SeededRandom random;
  kube::RecordingLogger logger;
  LeaderElector elector;
  std::optional<http::Request> under_way = {};
  std::optional<Reply> reply = {};  // That is on its way back.
};

using Late = std::deque<http::Request>;  // That somebody has given up, and that may still arrive.

// One thing that happens to a replica: a request begins, arrives, is answered, or is given up
// before or after it arrived.
void Step(fuzz::Input& input, Replica& replica, LeaseServer& server, Late& late) {
  if (!replica.under_way) {
    replica.under_way = replica.elector.Poll().request;
    return;
  }
  const int what = input.ConsumeIntegralInRange(0, 7);
  if (what == 0) return;  // It takes longer.
  if (!replica.reply && what != 1) {
    replica.reply = server.Handle(*replica.under_way);
    return;
  }
  const bool is_lost = !replica.reply || what == 2;
  if (!replica.reply) late.push_back(*replica.under_way);
  const bool reads = replica.under_way->method == Method::kGet;
  replica.elector.OnReply(
      is_lost
          ? Reply(base::Fail(reads ? ErrorCode::kUnavailable : ErrorCode::kUnknownOutcome, "lost"))
          : *replica.reply);
  replica.under_way.reset();
  replica.reply.reset();
}

}  // namespace

// Two electors, whose clocks run alike, with requests that are late and lost:
//  - never lead both at once.
FUZZ_TARGET(lease_pair, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  base::ManualClock clock;
  LeaseServer server;
  Replica one("one", 1, clock);
  Replica other("other", 2, clock);
  Late late;
  while (input.remaining_bytes() > 0) {
    Replica& replica = input.ConsumeBool() ? one : other;
    const int what = input.ConsumeIntegralInRange(0, 15);
    if (what == 0 && !replica.under_way) {
      // The last write has returned: the Lease is handed over, which may be lost.
      const auto release = replica.elector.Release();
      if (release && input.ConsumeBool()) static_cast<void>(server.Handle(*release));
    } else if (what == 1 && !late.empty()) {
      static_cast<void>(server.Handle(late.front()));
      late.pop_front();
    } else if (what < 8) {
      clock.Advance(AnyPause(input));
    } else {
      Step(input, replica, server, late);
    }
    CHECK(!(one.elector.IsLeader() && other.elector.IsLeader()));
  }
}
