// How many objects to ask for in one page of a list.
//
// Pages hold what users wrote, and an object that is a hundred times as large as usual is legal. So
// a page's body has a bound that is small beside our memory, and what passes it is asked for again
// in fewer objects: the API server takes another limit with the same continue token, so that no
// page that was read is read again. Pages grow again where objects are small.
#pragma once

#include <cstddef>

namespace kube {

class PageLimit {
 public:
  explicit PageLimit(int most) : most_(most), objects_(most) {}

  // For ListOptions.
  [[nodiscard]] int objects() const { return objects_; }
  [[nodiscard]] std::size_t bytes_max() const;

  // The page was larger than that. False: it was of one object, and there is no smaller one.
  [[nodiscard]] bool Shrink();
  // A page of `bytes` was read.
  void OnPage(std::size_t bytes);

 private:
  int most_;
  int objects_;
};

}  // namespace kube
