#include "node/plugin/loop/garbage_collector.h"

#include <algorithm>
#include <utility>

#include "node/plugin/api/api_calls.h"

namespace plugin {

namespace {

using base::Result;

constexpr std::chrono::minutes kPeriod{10};
constexpr std::chrono::seconds kSoon{1};
constexpr std::chrono::seconds kRetry{5};
constexpr std::chrono::milliseconds kLockPause{50};

}  // namespace

GarbageCollector::GarbageCollector(PluginState& state, TakeBack take_back)
    : state_(state),
      look_ups_(state.clock, state.logger,
                {.state = [&state](const auto& uid) { return state.checkpoint_file.StateOf(uid); },
                 .take_back = std::move(take_back),
                 .look_again = [this](TimePoint time) { next_ = std::min(next_, time); }}) {}

void GarbageCollector::CheckForGarbage() {
  if (!MayBegin()) return;
  // The deletion of a domain waits until its labels are removed.
  const bool is_label_kept = state_.node.label_kept_until() != TimePoint();
  if (is_label_kept && !state_.IsAlive(state_.node.node()->domain)) {
    state_.node.KeepLabelUntil(state_.clock.Now());
  }
  const auto residue = FindResidue();
  if (!residue) return;
  if (HasUnknownDomains(*residue)) CollectSoon(lists_.next());
  const GarbagePlan garbage = Find(*residue);
  if (!garbage.relabel.empty()) CollectSoon(relabels_.next());
  // An unprepare that knew an older state of the node left it.
  if (garbage.unlabel) CollectSoon(unlabels_.next());
  if (garbage.has_aborted) CollectSoon(state_.clock.Now() + kAbortedFor + kSoon);
}

void GarbageCollector::CollectSoon(TimePoint least) {
  next_ = std::min(next_, std::max(least, state_.clock.Now() + kSoon));
}

// Returns whether everything that it needs has been read.
bool GarbageCollector::MayBegin() const {
  return state_.MayLabel() && state_.api->domains().has_read() && state_.api->slices() && !asking_;
}

TimePoint GarbageCollector::Turn() {
  const TimePoint now = state_.clock.Now();
  const TimePoint kept_until = state_.node.label_kept_until();
  const bool is_label_kept = kept_until != TimePoint();
  const bool is_label_due = is_label_kept && now >= kept_until;
  // Until it is rebuilt, no claim is prepared or unprepared.
  const bool is_unreadable = state_.is_rebuilding();
  if (!std::exchange(was_unreadable_, is_unreadable) && is_unreadable) next_ = now;
  if (now < next_ && !is_label_due) return is_label_kept ? std::min(next_, kept_until) : next_;
  if (!MayBegin()) return TimePoint::max();
  if (auto locked = state_.checkpoint_file.Lock(); !locked) {
    next_ = now + kLockPause;
    return next_;
  }
  state_.checkpoint_file.Unlock();
  if (state_.is_rebuilding()) {
    if (state_.host.host) Rebuild();
    return TimePoint::max();
  }
  next_ = now + kPeriod;
  if (is_label_due) state_.node.KeepLabelUntil({});
  const auto residue = FindResidue();
  if (!residue) {
    TryLater(residue.error());
  } else if (HasUnknownDomains(*residue) && now >= lists_.next()) {
    CheckDomains(residue->folders);
  } else {
    CollectGarbage({});
  }
  return next_;
}

Result<NodeResidue> GarbageCollector::FindResidue() const {
  NodeResidue residue = {.specs = TRY(state_.claim_disk.Specs()),
                         .folders = TRY(state_.disk.Folders()),
                         .node_domain = state_.node.node()->domain,
                         .now = state_.clock.Wall()};
  for (const std::string& domain : UsedDomains(state_.checkpoint_file.checkpoint())) {
    if (state_.IsAlive(domain)) residue.domains_alive.insert(domain);
  }
  const bool is_held =
      state_.clock.Now() < state_.node.label_kept_until() && state_.IsAlive(residue.node_domain);
  residue.keeps_label = is_held || state_.instances.is_superseded();
  return residue;
}

GarbagePlan GarbageCollector::Find(const NodeResidue& residue) const {
  return state_.rules.find_garbage(state_.host.self, state_.checkpoint_file.checkpoint(), residue);
}

bool GarbageCollector::HasUnknownDomains(const NodeResidue& residue) const {
  const std::set<std::string> used = UsedDomains(state_.checkpoint_file.checkpoint());
  return std::ranges::any_of(residue.folders, [&](const std::string& domain) {
    return !used.contains(domain) && !state_.api->domains().Find(domain);
  });
}

// A missing cache entry proves no deletion, so domains are read live. `folders` existed before that
// read: a later folder may belong to a domain that is newer than the answer.
void GarbageCollector::CheckDomains(std::vector<std::string> folders) {
  asking_ = true;
  state_.api->Enqueue(PluginApi::Queue::kReads,
                      [this, folders = std::move(folders)](http::Transport& transport) {
                        auto found = ReadDomains(transport, "");
                        return [this, folders, found = std::move(found)] {
                          asking_ = false;
                          if (!found) return TryLater(found.error());
                          std::set<std::string> gone;
                          for (const std::string& domain : folders) {
                            if (!found->contains(domain)) gone.insert(domain);
                          }
                          lists_.Count(state_.clock.Now());
                          CollectGarbage(std::move(gone));
                        };
                      });
}

void GarbageCollector::CollectGarbage(std::set<std::string> domains_gone) {
  if (!MayBegin()) return CollectSoon();  // A label is being written.
  auto residue = FindResidue();
  if (!residue) return TryLater(residue.error());
  residue->domains_gone = std::move(domains_gone);
  if (auto locked = state_.checkpoint_file.Lock(); !locked) return CollectSoon();
  GarbagePlan garbage;
  Result<void> done = {};
  if (!state_.is_rebuilding()) {
    garbage = Find(*residue);
    done = Remove(garbage);
    if (!garbage.remove_folders.empty()) lists_.Reset();
  }
  state_.checkpoint_file.Unlock();
  if (!done) TryLater(done.error());
  if (garbage.has_aborted) CollectSoon(state_.clock.Now() + kAbortedFor + kSoon);
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  for (const std::string& uid : garbage.look_up) {
    const auto it = claims.find(uid);
    if (it == claims.end() || it->second.ns.empty()) continue;
    look_ups_.LookUp(*state_.api, {.ns = it->second.ns, .uid = uid, .name = it->second.name});
  }
  if (!garbage.relabel.empty()) return PutLabelBack(garbage.relabel);
  if (!garbage.unlabel) return;
  const std::string domain = residue->node_domain;
  unlabels_.Count(state_.clock.Now());
  state_.node.ChangeLabel(
      *state_.api, {.from = domain}, [this, domain](const Result<void>& changed) {
        if (!changed) return TryLater(changed.error());
        state_.logger.Info("Removed the node's label, because no claim needs it",
                           {{"uid", domain}});
      });
}

// Another instance, a person or a controller removed the label. Without it the domain's daemon ends
// under the pods that use it.
void GarbageCollector::PutLabelBack(const std::string& domain) {
  const TimePoint now = state_.clock.Now();
  if (now < relabels_.next()) return CollectSoon(relabels_.next());
  relabels_.Count(now);
  state_.logger.Info("The node lost its label under a prepared claim, setting it again",
                     {{"uid", domain}});
  state_.node.ChangeLabel(*state_.api, {.to = domain}, [this](const Result<void>& changed) {
    if (!changed) TryLater(changed.error());
  });
}

Result<void> GarbageCollector::Remove(const GarbagePlan& garbage) {
  for (const std::string& uid : garbage.remove_specs) {
    TRY(state_.claim_disk.RemoveSpec(uid));
    state_.logger.Info("Deleted a CDI file of a claim that is not prepared", {{"uid", uid}});
  }
  for (const std::string& domain : garbage.remove_folders) {
    TRY(state_.disk.RemoveFolder(domain));
    state_.logger.Info("Deleted the folder of a deleted domain", {{"uid", domain}});
  }
  if (garbage.forget.empty()) return {};
  Checkpoint next = state_.checkpoint_file.checkpoint();
  for (const std::string& uid : garbage.forget) next.claims.erase(uid);
  return state_.Save(std::move(next));
}

void GarbageCollector::Rebuild() {
  asking_ = true;
  const dra::SliceApi version = state_.api->dra_version();
  state_.api->Enqueue(PluginApi::Queue::kReads, [this, version](http::Transport& transport) {
    auto claims = dra::ReadClaimsOn<Wanted>(transport, version, state_.settings.node);
    return [this, claims = std::move(claims)] {
      asking_ = false;
      if (!claims) {
        const base::Error error = dra::AdviseOnListing(claims.error(), state_.settings.ns);
        state_.checkpoint_file.SetTrouble(error.message);
        return TryLater(error);
      }
      const auto residue = FindResidue();
      if (!residue) return TryLater(residue.error());
      if (auto locked = state_.checkpoint_file.Lock(); !locked) return TryLater(locked.error());
      Result<void> saved = {};
      // Another instance may have rebuilt it, and prepared claims since.
      const bool rebuilds = state_.is_rebuilding();
      if (rebuilds) {
        saved =
            state_.Save(state_.rules.rebuild(state_.host.self, state_.boot_id, *claims, *residue));
      }
      state_.checkpoint_file.Unlock();
      if (!saved) return TryLater(saved.error());
      next_ = {};
      if (!rebuilds) return;
      state_.logger.Info(
          "The checkpoint could not be read and is rebuilt from claims",
          {{"claims", std::to_string(state_.checkpoint_file.checkpoint().claims.size())}});
    };
  });
}

void GarbageCollector::TryLater(const base::Error& error) {
  next_ = state_.clock.Now() + kRetry;
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("Garbage collection failed, will retry", {{"err", error.message}});
}

}  // namespace plugin
