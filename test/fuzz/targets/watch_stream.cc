// A watch, split anywhere:
//  - the same events come to the sink, in the same order, however the bytes are split;
//  - and the reflector ends in the same state: what it says is wrong, and what it does next.
#include "pkg/kube/api/resource.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/view_text.h"

namespace {

using kube::Reflector;
using TimePoint = base::Clock::TimePoint;

class Recorder final : public kube::ReflectorSink {
 public:
  void BeginReplace() override { events += "begin\n"; }
  void ReplaceAdd(json::View object) override { events += "add " + fuzz::TextOf(object) + "\n"; }
  void EndReplace(const std::string& version) override { events += "end " + version + "\n"; }
  void Apply(json::View object, bool deleted) override {
    events += (deleted ? "delete " : "apply ") + fuzz::TextOf(object) + "\n";
  }
  void Advance(const std::string& version) override { events += "advance " + version + "\n"; }

  std::string events;
};

// What became of a stream that came in pieces of `sizes`.
std::string Play(std::string_view stream, const std::vector<std::size_t>& sizes) {
  constexpr TimePoint kStart{std::chrono::hours(1)};
  constexpr TimePoint kLater = kStart + std::chrono::seconds(3);
  kube::FixedRandom random(kube::FixedRandom::Side::kLow);
  kube::RecordingLogger logger;
  Recorder sink;
  Reflector reflector({.resource = kube::kNodes}, sink, random, logger);

  CHECK(reflector.Poll(kStart).kind == Reflector::Next::Kind::kSend);
  reflector.OnReply(kStart,
                    http::Response{.status = 200,
                                   .body = R"({"kind":"NodeList","metadata":{"resourceVersion":)"
                                           R"("10"},"items":[]})"});
  CHECK(reflector.Poll(kStart).kind == Reflector::Next::Kind::kStream);
  bool goes_on = true;
  for (std::size_t next = 0; goes_on && !stream.empty(); ++next) {
    const std::string_view piece = stream.substr(0, sizes[next % sizes.size()]);
    goes_on = reflector.OnStreamData(kLater, piece);
    stream.remove_prefix(piece.size());
  }
  if (goes_on) reflector.OnStreamEnd(kLater, {});
  const Reflector::Next next = reflector.Poll(kLater);
  std::string end = sink.events + (goes_on ? "goes on\n" : "over\n") + reflector.problem().message +
                    "\n" + next.request.path + "\n" +
                    std::to_string((next.until - kStart).count()) + "\n";
  for (const auto& line : logger.lines()) end += line.text + "\n";
  return end;
}

}  // namespace

FUZZ_TARGET(watch_stream, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  std::vector<std::size_t> sizes(input.ConsumeIntegralInRange<std::size_t>(1, 6));
  for (std::size_t& size : sizes) size = input.ConsumeIntegralInRange<std::size_t>(1, 40);
  const std::string stream = input.ConsumeRemainingBytesAsString();
  fuzz::CheckSame(Play(stream, {stream.size() + 1}), Play(stream, sizes));
}
