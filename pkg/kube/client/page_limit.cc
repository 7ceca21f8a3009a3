#include "pkg/kube/client/page_limit.h"

#include <algorithm>

namespace kube {

constexpr std::size_t kPageBytesMax = 4U << 20;
// As much as an event of a watch may have; etcd takes 1.5 MB, and JSON may escape each byte in six.
constexpr std::size_t kObjectBytesMax = 16U << 20;
constexpr int kShrink = 4;  // What is too large was transferred in vain: few such steps.
constexpr int kGrow = 2;
// Twice as many objects of that size fill half of what there is room for.
constexpr std::size_t kSmallPageBytes = kPageBytesMax / 4;

std::size_t PageLimit::bytes_max() const { return objects_ == 1 ? kObjectBytesMax : kPageBytesMax; }

bool PageLimit::Shrink() {
  if (objects_ == 1) return false;
  objects_ = std::max(objects_ / kShrink, 1);
  return true;
}

void PageLimit::OnPage(std::size_t bytes) {
  if (bytes <= kSmallPageBytes) objects_ = std::min(objects_ * kGrow, most_);
}

}  // namespace kube
