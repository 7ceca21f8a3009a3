#include "pkg/kube/runtime/watch_loop.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/http/curl_multi.h"

namespace kube {
namespace {

using TimePoint = base::Clock::TimePoint;
using Next = Reflector::Next;

constexpr int kNoLimit = 0;

// A reflector and its exchange in progress.
struct Slot {
  Reflector& reflector;
  http::CurlMulti::Id id = 0;  // 0 if there is none.
};

}  // namespace

struct WatchLoop::State {
  http::CurlMulti multi;
  const base::Clock& clock;
  const std::chrono::milliseconds turn_max;
  std::vector<std::unique_ptr<Slot>> slots;

  // Does what the reflector requests. Returns when to poll it again.
  TimePoint Step(Slot& slot);
  void Drop(Slot& slot) { multi.Abandon(std::exchange(slot.id, 0)); }
};

WatchLoop::WatchLoop(http::Endpoint endpoint, http::Credentials& credentials,
                     std::string user_agent, const base::Clock& clock, http::OnExchange on_exchange,
                     std::chrono::milliseconds turn_max)
    : state_(new State{.multi = {std::move(endpoint), credentials, std::move(user_agent), kNoLimit},
                       .clock = clock,
                       .turn_max = turn_max,
                       .slots = {}}) {
  state_->multi.SetOnExchange(std::move(on_exchange));
}

WatchLoop::~WatchLoop() = default;

void WatchLoop::Add(Reflector& reflector) {
  state_->slots.push_back(std::make_unique<Slot>(Slot{.reflector = reflector}));
}

void WatchLoop::Run(const std::stop_token& stop, const std::function<void()>& on_turn) {
  State& state = *state_;
  const std::stop_callback wake(stop, [&] { state.multi.Wake(); });
  while (!stop.stop_requested()) {
    const TimePoint turn = state.clock.Now();
    TimePoint until = turn + state.turn_max;
    for (const auto& slot : state.slots) until = std::min(until, state.Step(*slot));
    if (on_turn) on_turn();
    // Rounded up, because waits of zero would be a busy loop.
    state.multi.Poll(std::chrono::ceil<std::chrono::milliseconds>(until - turn));
  }
  for (const auto& slot : state.slots) state.Drop(*slot);
}

TimePoint WatchLoop::State::Step(Slot& slot) {
  const TimePoint now = clock.Now();
  Next next = slot.reflector.Poll(now);
  if (next.abandon) Drop(slot);
  if (next.kind == Next::Kind::kWait) return next.until;
  Drop(slot);
  const auto on_reply = [this, &slot](base::Result<http::Response> reply) {
    slot.id = 0;
    slot.reflector.OnReply(clock.Now(), std::move(reply));
  };
  if (next.kind == Next::Kind::kSend) {
    slot.id = multi.Send(std::move(next.request), on_reply);
  } else {
    slot.id = multi.Open(std::move(next.request),
                         {.on_data =
                              [this, &slot](std::string_view bytes) {
                                return slot.reflector.OnStreamData(clock.Now(), bytes);
                              },
                          .on_reply = on_reply,
                          .on_end =
                              [this, &slot](const base::Result<void>& result) {
                                slot.id = 0;
                                slot.reflector.OnStreamEnd(clock.Now(), result);
                              }});
  }
  return now + turn_max;  // Its next Poll() returns its deadline.
}

}  // namespace kube
