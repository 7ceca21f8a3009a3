// What the process remembers of each domain between two passes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/memory.h"
#include "pkg/base/clock.h"
#include "pkg/base/find.h"
#include "pkg/base/mutex.h"

namespace compute_domain {

struct Remembered {
  Memory memory = {};
  // What the cache must show before the next pass decides anything, and until when it waits.
  std::vector<Expectation> expectations = {};
  base::Clock::TimePoint expect_until = {};
  // Last write of each child kind that the cache had not shown by `expect_until`.
  std::map<Kind, Expectation> unseen = {};
  std::set<ActionId> logged = {};  // With --dry-run: the writes that the last pass wanted.
};

// Thread-safe. Of two passes of one domain at a time, one would overwrite what the other keeps.
// Bound: one for each domain that exists, or left something behind.
class DomainMemories {
 public:
  // Never null. What it points to does not change.
  std::shared_ptr<const Remembered> Recall(const kube::Uid& uid) const {
    static const auto kNothing = std::make_shared<const Remembered>();
    return of_.With([&](const auto& of) { return base::FindOr(of, uid, kNothing); });
  }
  void Keep(const kube::Uid& uid, Remembered remembered) {
    auto kept = std::make_shared<const Remembered>(std::move(remembered));
    of_.With([&](auto& of) { std::swap(of[uid], kept); });
  }
  void Forget(const kube::Uid& uid) {
    of_.With([&](auto& of) { of.erase(uid); });
  }

 private:
  base::Guarded<std::map<kube::Uid, std::shared_ptr<const Remembered>>> of_;
};

}  // namespace compute_domain
