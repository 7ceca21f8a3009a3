// Chooses how many objects to request in one page of a list, so that a page has about half a
// megabyte.
//
// Users write the objects, and an object may be a hundred times larger than usual. So each page has
// a bound in bytes that is small compared to our memory. If a page passes the bound, it is
// requested again with fewer objects. The API server accepts another limit with the same continue
// token, so no page is read twice.
#pragma once

#include <algorithm>
#include <cstddef>

namespace kube {

class PageLimit {
 public:
  // For a collection whose objects may be of any size: half a megabyte of Nodes.
  static constexpr int kFirst = 50;

  explicit PageLimit(int most) : PageLimit(most, most) {}
  // `first` is for the first page, while the size of the objects is not known.
  PageLimit(int most, int first) : most_(most), objects_(std::min(most, first)) {}

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
