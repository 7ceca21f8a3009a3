#include "pkg/http/gate.h"

#include <utility>

namespace http {

Gate::Gate(MayWrite may_write, const base::Clock& clock)
    : may_write_(std::move(may_write)), clock_(clock) {}

base::Result<void> Gate::Admit(const Request& request) const {
  if (give_up_at_ != kNever) return base::Unavailable("not sent: this process ends");
  if (request.method != Method::kGet && !may_write_()) {
    return base::Unavailable("not sent: this replica does not lead");
  }
  return {};
}

void Gate::Close(std::chrono::milliseconds drain) {
  give_up_at_ = (clock_.Now() + drain).time_since_epoch().count();
}

bool Gate::MustGiveUp() const {
  const std::int64_t at = give_up_at_;
  return at != kNever && clock_.Now().time_since_epoch().count() >= at;
}

}  // namespace http
