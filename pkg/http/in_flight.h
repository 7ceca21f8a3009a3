// How many requests may be in flight at once, over all the transports that share this.
//
// Thread-safe. Whoever waits comes before those that have some in flight and want one more.
#pragma once

#include <condition_variable>

#include "pkg/base/mutex.h"

namespace http {

class InFlight {
 public:
  explicit InFlight(int most) : most_(most), free_(most) {}

  [[nodiscard]] int most() const { return most_; }
  // False: none is free, or somebody waits for it.
  [[nodiscard]] bool TryTake();
  void Take();  // Waits until one is free.
  void GiveBack();
  [[nodiscard]] int waiting() const;

 private:
  const int most_;
  mutable base::Mutex mutex_;
  std::condition_variable_any freed_;
  int free_ GUARDED_BY(mutex_);
  int waiting_ GUARDED_BY(mutex_) = 0;
};

}  // namespace http
