// Limits the requests in flight over all transports that share it.
//
// Slots has the rules for which transport may send one more.
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

  int most() const { return most_; }

  // A sender; it has a share of the slots while it exists. For one thread.
  class Sender {
   public:
    explicit Sender(InFlight& in_flight);
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    bool TryTake();
    void Take();  // Blocks until a slot is free. REQUIRES: it has none.
    void GiveBack();

   private:
    InFlight& in_flight_;
    int held_ = 0;
  };

  // The number of senders that block in Take().
  int waiting() const;

 private:
  void WakeFirst() REQUIRES(mutex_);

  const int most_;
  mutable base::Mutex mutex_;
  // Senders in Take(), in order.
  std::deque<std::condition_variable_any*> line_ GUARDED_BY(mutex_);
  Slots slots_ GUARDED_BY(mutex_);
};

}  // namespace http
