#include "pkg/kube/client/page_limit.h"

#include <algorithm>

namespace kube {

constexpr std::size_t kPageBytesMax = 4U << 20;
// The limit of a watch event. etcd allows 1.5 MB, and JSON may escape each byte as six.
constexpr std::size_t kObjectBytesMax = 16U << 20;
constexpr int kShrink = 4;  // A page that is too large was transferred in vain, so few such steps.
constexpr std::size_t kGrow = 2;
// Enough for few requests. Several collections are read at the same time.
constexpr std::size_t kPageBytes = 512U << 10;

std::size_t PageLimit::bytes_max() const { return objects_ == 1 ? kObjectBytesMax : kPageBytesMax; }

bool PageLimit::Shrink() {
  if (objects_ == 1) return false;
  objects_ = std::max(objects_ / kShrink, 1);
  return true;
}

void PageLimit::OnPage(std::size_t bytes) {
  const auto objects = static_cast<std::size_t>(objects_);
  const std::size_t fit = objects * kPageBytes / std::max<std::size_t>(bytes, 1);
  const std::size_t most = std::min(objects * kGrow, static_cast<std::size_t>(most_));
  objects_ = static_cast<int>(std::clamp<std::size_t>(fit, 1, most));
}

}  // namespace kube
