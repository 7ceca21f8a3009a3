#include "pkg/kube/lease/lease_survey.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "pkg/json/value.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using std::chrono::nanoseconds, std::chrono::seconds;

constexpr seconds kDurationMax{60};

struct Content {
  std::string holder = {};
  std::string version = {};
  seconds duration{0};
};

base::Result<Content> Decode(std::string_view body) {
  const json::Document lease = TRY(json::Document::Parse(body));
  const json::View spec = lease["spec"];
  return Content{.holder = std::string(spec["holderIdentity"].AsString()),
                 .version = std::string(lease["metadata"]["resourceVersion"].AsString()),
                 .duration = std::clamp(seconds(spec["leaseDurationSeconds"].AsInt().value_or(0)),
                                        seconds(1), kDurationMax)};
}

}  // namespace

LeaseSurvey::LeaseSurvey(const std::vector<ObjectKey>& leases) {
  for (const ObjectKey& key : leases) leases_.push_back({.holder = {.lease = key}});
}

void LeaseSurvey::Look(http::Transport& transport, std::chrono::milliseconds timeout,
                       nanoseconds passed) {
  error_.reset();
  for (Seen& seen : leases_) {
    http::Request request = GetRequest(kLeases, seen.holder.lease);
    request.timeout = timeout;
    Take(seen, CheckStatus(transport.Send(request), request.method), passed);
  }
}

void LeaseSurvey::Take(Seen& seen, const base::Result<http::Response>& reply, nanoseconds passed) {
  const bool is_missing = !reply && ProvesAbsence(reply.error(), kLeases, seen.holder.lease.name);
  base::Result<Content> content = Content();
  if (!reply && !is_missing) {
    content = tl::unexpected(reply.error());
  } else if (reply) {
    content = Decode(reply->body);
  }
  if (!content) {
    if (!error_) error_ = content.error();
    return;
  }
  seen.exists = !is_missing;
  const bool has_changed = std::exchange(seen.was_read, true) && content->version != seen.version;
  if (content->version != seen.version) seen.since = passed;
  seen.version = std::move(content->version);
  seen.holder.name = std::move(content->holder);
  seen.holder.duration = content->duration;
  if (has_changed && !seen.holder.name.empty()) alive_ = seen.holder;
}

std::optional<LeaseHolder> LeaseSurvey::MayBeAlive(nanoseconds passed) const {
  for (const Seen& seen : leases_) {
    const bool is_held = !seen.holder.name.empty();
    if (is_held && passed - seen.since < seen.holder.duration) return seen.holder;
  }
  return {};
}

bool LeaseSurvey::AnyExists() const { return std::ranges::any_of(leases_, &Seen::exists); }

}  // namespace kube
