#include "node/plugin/loop/garbage_collector.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/plugin/host/domain_dirs.h"

namespace plugin {

namespace {

using base::Result;

constexpr std::chrono::minutes kPeriod{10};
constexpr std::chrono::seconds kSoon{1};
constexpr std::chrono::seconds kRetry{5};
constexpr std::chrono::milliseconds kLockPause{50};

}  // namespace

void Caretaker::LookForStrays() {
  if (!MayBegin()) return;
  const auto litter = Find();
  if (litter && HasStrays(*litter)) Look();
}

void Caretaker::Look() { next_ = std::min(next_, state_.clock.Now() + kSoon); }

// Everything that it goes by has been read.
bool Caretaker::MayBegin() const {
  return state_.link != nullptr && state_.link->domains().has_read() && state_.link->slices() &&
         state_.node && !state_.node_writing && !asking_;
}

TimePoint Caretaker::Turn() {
  const TimePoint now = state_.clock.Now();
  if (now < next_) return next_;
  if (!MayBegin()) return TimePoint::max();
  if (auto locked = state_.notes.Lock(); !locked) {
    next_ = now + kLockPause;
    return next_;
  }
  if (state_.is_rebuilding()) {
    state_.notes.Unlock();
    if (!state_.host) return TimePoint::max();
    Rebuild();
    return TimePoint::max();
  }
  state_.notes.Unlock();
  next_ = now + kPeriod;
  const auto litter = Find();
  if (!litter) {
    TryLater(litter.error());
  } else if (HasStrays(*litter)) {
    AskForDomains(litter->folders);
  } else {
    PutRight({});
  }
  return next_;
}

Result<Litter> Caretaker::Find() const {
  return Litter{.specs = TRY(cdi::ClaimsIn(state_.settings.cdi_folder)),
                .folders = TRY(DomainFolders(state_.self.folder)),
                .node_domain = state_.node->domain,
                .now = state_.clock.Wall()};
}

bool Caretaker::HasStrays(const Litter& litter) const {
  return std::ranges::any_of(litter.folders, [this](const std::string& domain) {
    return !state_.link->domains().Find(domain);
  });
}

// That something is not in a cache is no reason to remove anything. Only folders that are there
// before it is asked: the domain of one that comes meanwhile may be younger than the answer.
void Caretaker::AskForDomains(std::vector<std::string> folders) {
  asking_ = true;
  state_.link->Do(ApiLink::Lane::kReads,
                  [this, folders = std::move(folders)](http::Transport& transport) {
                    auto found = ReadDomains(transport, "");
                    state_.mailbox.Post([this, folders, found = std::move(found)] {
                      asking_ = false;
                      if (!found) return TryLater(found.error());
                      std::set<std::string> gone;
                      for (const std::string& domain : folders) {
                        if (!found->contains(domain)) gone.insert(domain);
                      }
                      PutRight(std::move(gone));
                    });
                  });
}

void Caretaker::PutRight(std::set<std::string> domains_gone) {
  if (!MayBegin()) return Look();  // A label is being written.
  auto litter = Find();
  if (!litter) return TryLater(litter.error());
  litter->domains_gone = std::move(domains_gone);
  if (auto locked = state_.notes.Lock(); !locked) return Look();
  Upkeep upkeep;
  Result<void> done = {};
  if (!state_.is_rebuilding()) {
    upkeep = FindUpkeep(state_.self, state_.notes.checkpoint(), *litter);
    done = Do(upkeep);
  }
  state_.notes.Unlock();
  if (!done) TryLater(done.error());
  for (const std::string& uid : upkeep.look_up) LookUp(uid);
  if (!upkeep.unlabel) return;
  state_.logger.Info("The node's label goes, because no claim needs it",
                     {{"domain", litter->node_domain}});
  state_.ChangeNodeLabel({.from = litter->node_domain}, [this](const Result<void>& changed) {
    if (!changed) TryLater(changed.error());
  });
}

Result<void> Caretaker::Do(const Upkeep& upkeep) {
  for (const std::string& uid : upkeep.remove_specs) {
    state_.logger.Info("A CDI file goes, because nothing is noted of its claim", {{"uid", uid}});
    TRY(cdi::Remove(state_.settings.cdi_folder, cdi::ClaimFile(uid)));
  }
  for (const std::string& domain : upkeep.remove_folders) {
    state_.logger.Info("The folder of a domain goes with it", {{"domain", domain}});
    TRY(RemoveDomainFolder(state_.self.folder, domain));
  }
  if (upkeep.forget.empty()) return {};
  Checkpoint next = state_.notes.checkpoint();
  for (const std::string& uid : upkeep.forget) next.claims.erase(uid);
  return state_.Save(std::move(next));
}

void Caretaker::LookUp(const std::string& uid) {
  const auto it = state_.notes.checkpoint().claims.find(uid);
  if (it == state_.notes.checkpoint().claims.end() || it->second.ns.empty()) return;
  const kubelet::ClaimName claim = {.ns = it->second.ns, .uid = uid, .name = it->second.name};
  const std::string version(NameOf(state_.link->dra_version()));
  state_.link->Do(ApiLink::Lane::kReads, [this, claim, version](http::Transport& transport) {
    const auto found =
        ReadClaim(transport, version, {.ns = claim.ns, .name = claim.name}, claim.uid);
    if (found || found.error().code != base::ErrorCode::kNotFound) return;
    state_.mailbox.Post([this, claim] { take_back_(claim); });
  });
}

void Caretaker::Rebuild() {
  asking_ = true;
  const std::string version(NameOf(state_.link->dra_version()));
  state_.link->Do(ApiLink::Lane::kReads, [this, version](http::Transport& transport) {
    auto claims = ReadClaimsOf(transport, version, state_.settings.node);
    state_.mailbox.Post([this, claims = std::move(claims)] {
      asking_ = false;
      if (!claims) return TryLater(claims.error());
      const auto litter = Find();
      if (!litter) return TryLater(litter.error());
      if (auto locked = state_.notes.Lock(); !locked) return TryLater(locked.error());
      const auto saved =
          state_.Save(plugin::Rebuild(state_.self, state_.boot_id, *claims, *litter));
      state_.notes.Unlock();
      if (!saved) return TryLater(saved.error());
      next_ = {};
      state_.logger.Info("What was prepared is found out, since it could not be read",
                         {{"claims", std::to_string(state_.notes.checkpoint().claims.size())}});
    });
  });
}

void Caretaker::TryLater(const base::Error& error) {
  next_ = state_.clock.Now() + kRetry;
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("What lies about on the node cannot be put right yet",
                      {{"err", error.message}});
}

}  // namespace plugin
