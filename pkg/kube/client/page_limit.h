// Chooses how many objects to request in one page of a list.
//
// Users write the objects, and an object may be a hundred times larger than usual. So each page has
// a bound in bytes that is small compared to our memory. If a page passes the bound, it is
// requested again with fewer objects. The API server accepts another limit with the same continue
// token, so no page is read twice. Pages grow again when objects are small.
#pragma once

#include <cstddef>

namespace kube {

class PageLimit {
 public:
  explicit PageLimit(int most) : most_(most), objects_(most) {}

  // For ListOptions::limit and ListOptions::bytes_max.
  int objects() const { return objects_; }
  std::size_t bytes_max() const;

  // Asks for fewer objects, after a page passed bytes_max(). Returns false if the page had one
  // object.
  bool Shrink();
  // Notes that a page of `bytes` was read.
  void OnPage(std::size_t bytes);

 private:
  int most_;
  int objects_;
};

}  // namespace kube
