#include "pkg/kube/client/page_limit.h"

#include <algorithm>

namespace kube {

constexpr std::size_t kPageBytesMax = 4U << 20;
// The limit of a watch event. etcd allows 1.5 MB, and JSON may escape each byte as six.
constexpr std::size_t kObjectBytesMax = 16U << 20;
constexpr int kShrink = 4;  // A page that is too large was transferred in vain, so few such steps.
constexpr int kGrow = 2;
// After such a page, twice as many objects of that size fill half of the limit.
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
