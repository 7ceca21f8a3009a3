// Who may have one more request in flight: the rules of InFlight, without its lock.
//
// A sender has requests to send or in flight. It may always have its share: all slots divided by
// the senders, and half of them while it is alone. Beyond that it may take what is free, but not
// the slots that are kept back: so a sender of a thousand requests never has them all, and gives
// way as its replies come when others arrive. Who has nothing in flight and waits comes first, and
// of those the one that has waited longest: there may be more senders than slots.
//
// A value for one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace http {

class Slots {
 public:
  // Of `most` slots, `kept_back` are for senders that have less than their share.
  explicit Slots(int most, int kept_back = 0) : most_(most), kept_back_(kept_back), free_(most) {}

  void Join() { ++senders_; }
  void Leave() { --senders_; }

  // For a sender that has `held`. False: it has to wait for a reply of its own.
  [[nodiscard]] bool TryTake(int held) {
    const bool may_take = waiting() == 0 && free_ > (held < Share() ? 0 : kept_back_);
    if (may_take) --free_;
    return may_take;
  }

  // For a sender that has none: it waits from StartWait() on, until TakeWaiting() is true of what
  // that returned.
  [[nodiscard]] std::uint64_t StartWait() { return next_in_line_++; }
  [[nodiscard]] bool TakeWaiting(std::uint64_t place) {
    if (free_ == 0 || place != first_in_line_) return false;
    ++first_in_line_;
    --free_;
    return true;
  }

  void GiveBack() { ++free_; }

  [[nodiscard]] int most() const { return most_; }
  [[nodiscard]] int waiting() const { return static_cast<int>(next_in_line_ - first_in_line_); }

 private:
  [[nodiscard]] int Share() const { return std::max(1, most_ / std::max(2, senders_)); }

  const int most_;
  const int kept_back_;
  int free_;
  int senders_ = 0;
  std::uint64_t first_in_line_ = 0;
  std::uint64_t next_in_line_ = 0;
};

}  // namespace http
