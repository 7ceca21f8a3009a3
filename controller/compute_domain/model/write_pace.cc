#include "controller/compute_domain/model/write_pace.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "pkg/base/find.h"

namespace compute_domain {

using std::chrono::milliseconds;

milliseconds UrgentWindow(std::size_t members) {
  return milliseconds(100 + static_cast<milliseconds::rep>(members));
}

bool LosesReadiness(const std::vector<api::Member>& before, const std::vector<api::Member>& after) {
  std::map<std::string_view, const api::Member*> now;
  for (const api::Member& member : after) now.emplace(member.node, &member);
  return std::ranges::any_of(before, [&](const api::Member& member) {
    if (!member.ready) return false;
    const api::Member* const later = base::FindOr(now, member.node, nullptr);
    return later == nullptr || !later->ready;
  });
}

}  // namespace compute_domain
