#include "pkg/http/in_flight.h"

namespace http {

bool InFlight::TryTake() {
  const base::MutexLock lock(mutex_);
  if (free_ == 0 || waiting_ > 0) return false;
  --free_;
  return true;
}

void InFlight::Take() {
  const base::MutexLock lock(mutex_);
  ++waiting_;
  while (free_ == 0) freed_.wait(mutex_);
  --waiting_;
  --free_;
}

void InFlight::GiveBack() {
  const base::MutexLock lock(mutex_);
  ++free_;
  freed_.notify_one();
}

int InFlight::waiting() const {
  const base::MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace http
