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
  in_flight_.slots_.StartWait();
  while (!in_flight_.slots_.TakeWaiting()) in_flight_.freed_.wait(in_flight_.mutex_);
  ++held_;
}

void InFlight::Sender::GiveBack() {
  const base::MutexLock lock(in_flight_.mutex_);
  in_flight_.slots_.GiveBack();
  --held_;
  in_flight_.freed_.notify_one();
}

int InFlight::waiting() const {
  const base::MutexLock lock(mutex_);
  return slots_.waiting();
}

}  // namespace http
