// How many requests may be in flight at once, over all the transports that share this, and which of
// them may have one more: see Slots.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>

#include "pkg/base/mutex.h"
#include "pkg/http/slots.h"

namespace http {

class InFlight {
 public:
  explicit InFlight(int most, int kept_back = 0) : most_(most), slots_(most, kept_back) {}

  [[nodiscard]] int most() const { return most_; }

  // One that sends, while it lives. For one thread.
  class Sender {
   public:
    explicit Sender(InFlight& in_flight);
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    [[nodiscard]] bool TryTake();
    void Take();  // Waits until one is free. REQUIRES: it has none.
    void GiveBack();

   private:
    InFlight& in_flight_;
    int held_ = 0;
  };

  // Senders that are in Take().
  [[nodiscard]] int waiting() const;

 private:
  void WakeFirst() REQUIRES(mutex_);

  const int most_;
  mutable base::Mutex mutex_;
  std::deque<std::condition_variable_any*> line_ GUARDED_BY(mutex_);  // In Take(), by their turn.
  Slots slots_ GUARDED_BY(mutex_);
};

}  // namespace http
