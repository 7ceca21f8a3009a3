// Decides which sender may have one more request in flight.
//
// The rules of InFlight, without its lock. The share of a sender is all slots divided by the number
// of senders, or half of them if it is alone. A sender may always have its share. Beyond that it
// may take free slots, except those that are kept back. So a sender of a thousand requests never
// has all slots, and its share shrinks when others arrive. A waiting sender without a request in
// flight goes first, the longest wait before others: there may be more senders than slots.
//
// A value, for one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace http {

class Slots {
 public:
  // `kept_back` of the `most` slots are only for senders below their share.
  explicit Slots(int most, int kept_back = 0) : most_(most), kept_back_(kept_back), free_(most) {}

  void Join() { ++senders_; }
  void Leave() { --senders_; }

  // For a sender that has `held` slots. Returns false if it must wait for one of its own replies.
  bool TryTake(int held) {
    const bool may_take = waiting() == 0 && free_ > (held < Share() ? 0 : kept_back_);
    if (may_take) --free_;
    return may_take;
  }

  // For a sender that has no slot: it waits from StartWait() until TakeWaiting() returns true for
  // the place that StartWait() returned.
  std::uint64_t StartWait() { return next_in_line_++; }
  bool TakeWaiting(std::uint64_t place) {
    if (free_ == 0 || place != first_in_line_) return false;
    ++first_in_line_;
    --free_;
    return true;
  }

  void GiveBack() { ++free_; }

  int most() const { return most_; }
  int waiting() const { return static_cast<int>(next_in_line_ - first_in_line_); }

 private:
  int Share() const { return std::max(1, most_ / std::max(2, senders_)); }

  const int most_;
  const int kept_back_;
  int free_;
  int senders_ = 0;
  std::uint64_t first_in_line_ = 0;
  std::uint64_t next_in_line_ = 0;
};

}  // namespace http
