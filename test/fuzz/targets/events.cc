// What is told people in Events, of causes that others worded:
//  - each request is one that the API server takes: a note of at most 1024 bytes that ends with a
//    whole character, a name of at most 253, an instance of at most 128;
//  - there are no more than 20 requests a second, and one at a time.
//
// Notes and names are in UTF-8, as everything that was read from the API server is.
#include "pkg/base/testing/manual_clock.h"
#include "pkg/json/value.h"
#include "pkg/kube/events/event_recorder.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fuzz/hostile.h"

namespace {

using base::ErrorCode;
using http::Method;
using Reply = base::Result<http::Response>;

// As it comes out of JSON.
std::string Utf8(const std::string& text) {
  return json::Parse(json::Serialize(json::Value(text)))->AsString();
}

kube::Event AnyEvent(fuzz::Input& input) {
  kube::Event event = {
      .type = input.ConsumeBool() ? kube::EventType::kNormal : kube::EventType::kWarning,
      .reason = "NodeLost",
      .action = "Reconcile",
      .note = Utf8(fuzz::Text(input))};
  event.regarding = {.api_version = "v1",
                     .kind = "Pod",
                     .key = {.ns = input.PickValueInArray({"", "a", "b"}),
                             .name = input.ConsumeBool() ? "pod" : Utf8(fuzz::Text(input))},
                     .uid = input.PickValueInArray({"1", "2", "3"})};
  return event;
}

Reply AnyReply(fuzz::Input& input) {
  if (input.ConsumeBool()) return http::Response{.status = 201, .body = "{}"};
  if (input.ConsumeBool()) return base::Fail(ErrorCode::kUnknownOutcome, "lost");
  return http::Response{.status = input.PickValueInArray({400, 403, 404, 409, 413, 422, 429, 500}),
                        .body = fuzz::Text(input)};
}

void CheckRequest(const http::Request& request) {
  CHECK(request.path.starts_with("/apis/events.k8s.io/v1/namespaces/"));
  const auto body = json::Parse(request.body);
  CHECK(body);
  if (request.method == Method::kPatch) {
    CHECK((*body)["series"]["count"].AsInt().value_or(0) > 1);
    return;
  }
  CHECK((*body)["note"].AsString().size() <= 1024);
  CHECK((*body)["metadata"]["name"].AsString().size() <= 253);
  CHECK((*body)["reportingInstance"].AsString().size() <= 128);
}

}  // namespace

FUZZ_TARGET(events, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  base::ManualClock clock;
  kube::SeededRandom random(7);
  kube::RecordingLogger logger;
  kube::EventRecorder recorder("example.com/controller", std::string(200, 'i'), clock, random,
                               logger);
  auto last = base::Clock::TimePoint::min();
  while (input.remaining_bytes() > 0) {
    if (input.ConsumeBool()) recorder.Record(AnyEvent(input));
    const auto next = recorder.Poll();
    if (next.request) {
      CheckRequest(*next.request);
      CHECK(last == base::Clock::TimePoint::min() ||
            clock.Now() - last >= std::chrono::milliseconds(50));
      last = clock.Now();
      CHECK(!recorder.Poll().request);
      recorder.OnReply(AnyReply(input));
    } else {
      CHECK(next.until > clock.Now());
    }
    clock.Advance(std::chrono::milliseconds(input.ConsumeIntegralInRange(1, 200'000)));
  }
}
