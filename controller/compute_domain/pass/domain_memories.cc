#include "controller/compute_domain/pass/domain_memories.h"

#include <utility>

#include "pkg/base/find.h"

namespace compute_domain {

std::shared_ptr<const Remembered> DomainMemories::Recall(const kube::Uid& uid) const {
  static const auto kNothing = std::make_shared<const Remembered>();
  return of_.With([&](const auto& of) { return base::FindOr(of, uid, kNothing); });
}

void DomainMemories::Keep(const kube::Uid& uid, Remembered remembered) {
  auto kept = std::make_shared<const Remembered>(std::move(remembered));
  of_.With([&](auto& of) { std::swap(of[uid], kept); });
}

void DomainMemories::Forget(const kube::Uid& uid) {
  of_.With([&](auto& of) { of.erase(uid); });
}

}  // namespace compute_domain
