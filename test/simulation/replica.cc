#include "test/simulation/replica.h"

#include <algorithm>
#include <utility>

#include "test/simulation/contract.h"

namespace simulation {

namespace {

compute_domain::Facts FactsOf(const ReplicaOptions& options) {
  compute_domain::Facts facts;
  facts.driver_namespaces = {std::string(kDriverNamespace)};
  facts.daemons = {.ns = std::string(kDriverNamespace),
                   .image = options.image,
                   .controller_writes = options.controller_writes};
  return facts;
}

}  // namespace

Replica::Replica(ApiServer& server, ReplicaOptions options, Serve serve)
    : options_(std::move(options)),
      serve_(std::move(serve)),
      clock_(server.store()),
      random_(options_.seed),
      queue_(random_),
      elector_({.ns = std::string(kDriverNamespace), .name = std::string(kLeaseName)},
               options_.client, {}, clock_, random_, logger_),
      controller_(
          FactsOf(options_), [this](const std::string& uid) { queue_.Add(uid, clock_.Now()); },
          clock_, random_, logger_, options_.rules) {
  for (kube::Reflector& reflector : controller_.reflectors()) {
    watches_.emplace_back(reflector, server, options_.client, serve_, clock_);
  }
}

Revision Replica::ViewOf(const kube::Reflector& reflector) const {
  const auto it = options_.stale.find(reflector.options().resource.plural);
  return it == options_.stale.end() ? kNewest : it->second;
}

bool Replica::Step() {
  // Each part in turn, so that none starves another; the first that moves ends the step.
  const std::size_t parts = watches_.size() + 2;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t part = turn_++ % parts;
    const bool moved = part < watches_.size()    ? StepWatch(watches_[part])
                       : part == watches_.size() ? StepElector()
                                                 : StepWorker();
    if (moved) return true;
  }
  return false;
}

void Replica::ExpireWatches() {
  for (Watcher& watch : watches_) watch.Expire();
}

bool Replica::StepWatch(Watcher& watch) {
  if (!watch.Step(ViewOf(watch.reflector()))) return false;
  controller_.Observe();
  return true;
}

bool Replica::StepElector() {
  if (!options_.elects) return false;
  const kube::LeaderElector::Next next = elector_.Poll();
  elector_until_ = next.until;
  if (!next.request) return false;
  elector_.OnReply(serve_(*next.request));
  return true;
}

// Of a step's requests each asks anew as it starts, as in the process.
base::Result<http::Response> Replica::SendOfPass(const http::Request& request) {
  if (const auto admitted = gate_.Admit(request); !admitted) {
    return tl::unexpected(admitted.error());
  }
  return serve_(request);
}

bool Replica::StepWorker() {
  if (!pass_) {
    if (!controller_.MayReconcile() || !Leads()) return false;
    const std::optional<std::string> uid = queue_.Get(clock_.Now());
    if (!uid) return false;
    uid_ = *uid;
    pass_.emplace(controller_.reconciler().Start(uid_));
    requests_ = pass_->Next();
  }
  if (replies_.size() < requests_.size()) {
    replies_.push_back(SendOfPass(requests_[replies_.size()]));
  }
  if (replies_.size() < requests_.size()) return true;
  if (!requests_.empty()) {
    pass_->TakeReplies(std::exchange(replies_, {}));
    requests_ = pass_->Next();
  }
  if (requests_.empty()) EndPass();
  return true;
}

// As a worker of the process does.
void Replica::EndPass() {
  const compute_domain::Outcome outcome = pass_->outcome();
  pass_.reset();
  const base::Clock::TimePoint now = clock_.Now();
  if (outcome.error) {
    queue_.AddAfterFailure(uid_, now, outcome.error->retry_after.value_or(std::chrono::seconds(0)));
  } else {
    if (!outcome.waits) queue_.Forget(uid_);
    if (outcome.requeue_after) queue_.AddAt(uid_, now + *outcome.requeue_after, now);
  }
  queue_.Done(uid_, now);
}

std::optional<Time> Replica::NextDue() const {
  std::optional<base::Clock::TimePoint> next = queue_.NextDue();
  if (options_.elects && elector_until_)
    next = std::min(next.value_or(*elector_until_), *elector_until_);
  std::optional<Time> due;
  if (next) due = clock_.ToWall(*next);
  for (const Watcher& watch : watches_) {
    if (const auto time = watch.NextDue()) due = std::min(due.value_or(*time), *time);
  }
  return due;
}

bool Replica::IsAtRest(Time horizon) const {
  const std::optional<base::Clock::TimePoint> due = queue_.NextDue();
  const bool waits_long = !due || clock_.ToWall(*due) > horizon;
  const bool idle = Leads() && !pass_ && queue_.depth() == 0 && waits_long;
  return idle && controller_.HasSynced() &&
         std::ranges::all_of(watches_, [&](const Watcher& watch) {
           return watch.IsOpen() || (watch.IsDoneWithout() && watch.NextDue() > horizon);
         });
}

}  // namespace simulation
