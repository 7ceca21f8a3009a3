#include "pkg/http/in_flight.h"

namespace http {

InFlight::Sender::Sender(InFlight& in_flight) : in_flight_(in_flight) {
  const base::MutexLock lock(in_flight_.mutex_);
  in_flight_.slots_.Join();
}

InFlight::Sender::~Sender() {
  const base::MutexLock lock(in_flight_.mutex_);
  in_flight_.slots_.Leave();
}

bool InFlight::Sender::TryTake() {
  const base::MutexLock lock(in_flight_.mutex_);
  if (!in_flight_.slots_.TryTake(held_)) return false;
  ++held_;
  return true;
}

void InFlight::Sender::Take() {
  const base::MutexLock lock(in_flight_.mutex_);
  const std::uint64_t place = in_flight_.slots_.StartWait();
  std::condition_variable_any may_take;
  in_flight_.line_.push_back(&may_take);
  while (!in_flight_.slots_.TakeWaiting(place)) may_take.wait(in_flight_.mutex_);
  in_flight_.line_.pop_front();
  in_flight_.WakeFirst();  // Two slots may be free now, and both woke this sender.
  ++held_;
}

void InFlight::Sender::GiveBack() {
  const base::MutexLock lock(in_flight_.mutex_);
  in_flight_.slots_.GiveBack();
  --held_;
  in_flight_.WakeFirst();
}

void InFlight::WakeFirst() {
  if (!line_.empty()) line_.front()->notify_one();
}

int InFlight::waiting() const {
  const base::MutexLock lock(mutex_);
  return slots_.waiting();
}

}  // namespace http
