#include "node/plugin/loop/claim_work.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/dra/loop/read_claim_for.h"
#include "node/plugin/api/api_calls.h"
#include "pkg/base/overload.h"

namespace plugin {

namespace {

using base::Result;

// Covers the time in which a StatefulSet or a Job replaces a pod on its node.
constexpr std::chrono::seconds kLabelKept{5};

}  // namespace

// Files of a claim: its CDI file, and the folder of a daemon's domain.
struct ClaimWorks::FilesSeen {
  bool has_spec = false;
  std::optional<cdi::Spec> spec = {};
  bool has_folder = false;
};

class ClaimWorks::Work final : public dra::ClaimWork {
 public:
  Work(ClaimWorks& all, dra::ClaimCall& call);

  Result<dra::StepResult> Step() override;

 private:
  // Null while the claim is not read, and if it is invalid.
  const Wanted* Wants() const { return claim_ && claim_->wanted ? &*claim_->wanted : nullptr; }
  const std::string& uid() const { return call_.name.uid; }
  ClaimStep Decide(const NodeObservation& observed) const;
  NodeObservation Observe();
  // Reads them once a turn.
  const FilesSeen& Files();
  // Returns whether the label of the claim's domain may stay for a while after its unprepare.
  bool KeepsLabel() const;
  // Returns whether the claim is for a channel that needs the domain to be ready here.
  bool NeedsReadiness(const NodeObservation& observed) const;
  // Requests the data that the observation of the claim lacks.
  void FetchMissing(const NodeObservation& observed);
  void FetchDomain(const std::string& domain);
  // Executes a step that changes a file or a label, or that reads the claim. Other steps have no
  // effect.
  Result<void> Execute(const ClaimStep& step);
  // Starts the change. The result comes later.
  Result<void> ChangeLabel(LabelChange change);

  ClaimWorks& all_;
  PluginState& state_;
  dra::ClaimCall& call_;
  std::optional<ClaimToPrepare> claim_ = {};  // Empty until it is read.
  bool domain_asked_ = false;
  bool domain_gone_ = false;
  bool was_aborted_ = false;  // When the kubelet asked.
};

ClaimWorks::ClaimWorks(PluginState& state, DomainReadiness& readiness)
    : state_(state), readiness_(readiness) {}
ClaimWorks::~ClaimWorks() = default;

std::unique_ptr<dra::ClaimWork> ClaimWorks::Begin(dra::ClaimCall& call) {
  return std::make_unique<Work>(*this, call);
}

void ClaimWorks::BeginTurn() {
  readiness_.BeginTurn();
  files_.clear();
}

std::vector<kubelet::ClaimName> ClaimWorks::FindLost() {
  if (state_.instances.is_superseded() || state_.is_rebuilding()) return {};
  std::vector<kubelet::ClaimName> lost;
  for (const auto& [uid, entry] : state_.checkpoint_file.checkpoint().claims) {
    if (HasLost(uid, entry)) lost.push_back({.ns = entry.ns, .uid = uid, .name = entry.name});
  }
  return lost;
}

bool ClaimWorks::HasLost(const std::string& uid, const CheckpointClaim& entry) const {
  const bool is_known = cdi::IsFileSafe(uid) && !entry.name.empty() && !entry.ns.empty();
  if (entry.state != ClaimState::kCompleted || !is_known) return false;
  if (NamesCdiDevices(entry) && !state_.claim_disk.HasSpec(uid)) return true;
  const auto use = UseOf(entry);
  return use && use->type == DeviceType::kDaemon && IsUid(use->domain) &&
         !state_.disk.HasFolder(use->domain);
}

ClaimWorks::Work::Work(ClaimWorks& all, dra::ClaimCall& call)
    : all_(all), state_(all.state_), call_(call) {
  const auto& noted = state_.checkpoint_file.checkpoint().claims;
  const auto entry = noted.find(uid());
  was_aborted_ = entry != noted.end() && entry->second.state == ClaimState::kAborted;
}

Result<dra::StepResult> ClaimWorks::Work::Step() {
  const NodeObservation observed = Observe();
  ClaimStep step = Decide(observed);
  TRY(Execute(step));
  if (!std::holds_alternative<WaitForChange>(step)) all_.files_.clear();
  if (std::holds_alternative<FetchClaim>(step)) {
    const std::string why = call_.failed.empty() ? "" : ": " + call_.failed;
    step = WaitFor(observed, "the claim cannot be read" + why);
  }
  if (auto* answer = std::get_if<AnswerKubelet>(&step)) {
    const bool is_noop = answer->error.empty() && !call_.prepares() && was_aborted_;
    return dra::AnswerCall{.devices = call_.prepares() ? dra::DevicesOf(answer->groups)
                                                       : std::vector<kubelet::Device>(),
                           .error = std::move(answer->error),
                           .is_permanent = answer->is_permanent,
                           .log = is_noop ? "Unprepare noop: claim in PrepareAborted state: " +
                                                call_.name.ns + "/" + call_.name.name
                                          : ""};
  }
  const auto* wait = std::get_if<WaitForChange>(&step);
  if (wait == nullptr) return dra::GoOn();
  FetchMissing(observed);
  return dra::WaitUntil{.reason = wait->reason,
                        .until = std::min(wait->until, all_.readiness_.requeue_at())};
}

ClaimStep ClaimWorks::Work::Decide(const NodeObservation& observed) const {
  const Checkpoint& checkpoint = state_.checkpoint_file.checkpoint();
  if (!call_.prepares()) {
    return state_.rules.unprepare(state_.host.self, uid(), checkpoint, observed);
  }
  return state_.rules.prepare(state_.host.self, uid(), claim_ ? &*claim_ : nullptr, checkpoint,
                              observed);
}

bool ClaimWorks::Work::KeepsLabel() const {
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  const auto it = claims.find(uid());
  const auto use = it == claims.end() ? std::nullopt : UseOf(it->second);
  const bool has_label = use && use->type == DeviceType::kChannel && state_.node.node() &&
                         state_.node.node()->domain == use->domain;
  // A younger instance may have prepared another claim of the domain since. It removes the label
  // itself when no claim needs it.
  return has_label && (state_.IsAlive(use->domain) || state_.instances.is_superseded());
}

NodeObservation ClaimWorks::Work::Observe() {
  NodeObservation observed = {.no_host = state_.host.host ? "" : state_.host.trouble,
                              .other_driver = state_.host.other_driver,
                              .is_restore = call_.restores,
                              .node_read = state_.node.MayChange(),
                              .has_elder = state_.instances.has_elder(),
                              .is_withdrawn = call_.is_withdrawn(),
                              .called = call_.called,
                              .since = call_.since,
                              .now = state_.clock.Now()};
  if (state_.is_rebuilding()) {
    observed.rebuilding =
        "the checkpoint is rebuilt from claims: " + state_.checkpoint_file.resumed().why;
    return observed;
  }
  observed.keeps_label = !call_.prepares() && KeepsLabel();
  if (observed.node_read) observed.node_domain = state_.node.node()->domain;
  const FilesSeen& files = Files();
  observed.has_spec = files.has_spec;
  observed.spec = files.spec;
  observed.has_folder = files.has_folder;
  observed.has_driver_spec = state_.host.has_driver_spec;
  const Wanted* wanted = Wants();
  if (wanted == nullptr || state_.api == nullptr) return observed;
  const std::string& domain = wanted->config.domain;
  if (const auto known = state_.api->domains().Find(domain)) {
    observed.domain = known->domain;
  } else {
    observed.domain_gone = domain_gone_;
  }
  observed.is_ready = NeedsReadiness(observed) && all_.readiness_.IsReady(domain);
  return observed;
}

const ClaimWorks::FilesSeen& ClaimWorks::Work::Files() {
  const auto [seen, is_new] = all_.files_.try_emplace(uid());
  FilesSeen& files = seen->second;
  if (!is_new) return files;
  const auto spec = state_.claim_disk.ReadSpec(uid());
  // An unreadable file exists, and must be replaced.
  files.has_spec = !spec || *spec;
  if (spec) files.spec = *spec;
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  const auto it = claims.find(uid());
  auto use = it == claims.end() ? std::nullopt : UseOf(it->second);
  if (const Wanted* wanted = Wants()) use = wanted->config;
  const bool is_daemon = use && use->type == DeviceType::kDaemon && IsUid(use->domain);
  files.has_folder = is_daemon && state_.disk.HasFolder(use->domain);
  return files;
}

bool ClaimWorks::Work::NeedsReadiness(const NodeObservation& observed) const {
  const Wanted& wanted = *Wants();
  const bool is_its_node =
      state_.host.self.host_managed || observed.node_domain == wanted.config.domain;
  return wanted.name.type == DeviceType::kChannel && is_its_node && state_.host.host;
}

void ClaimWorks::Work::FetchMissing(const NodeObservation& observed) {
  const Wanted* wanted = Wants();
  if (wanted == nullptr || wanted->name.type != DeviceType::kChannel) return;
  if (state_.api == nullptr) return;
  const std::string& domain = wanted->config.domain;
  const bool is_unknown = !observed.domain && state_.api->domains().has_read();
  if (is_unknown && !std::exchange(domain_asked_, true)) FetchDomain(domain);
  if (NeedsReadiness(observed)) all_.readiness_.Fetch(domain);
}

// A channel's domain is in the namespace of its claim. A deleted domain never returns, because its
// UID was assigned when it was created.
void ClaimWorks::Work::FetchDomain(const std::string& domain) {
  call_.asking = true;
  state_.api->Enqueue(PluginApi::Queue::kReads,
                      [this, domain, ns = call_.name.ns](http::Transport& transport) {
                        const auto found = ReadDomains(transport, ns);
                        return [this, domain, found] {
                          call_.asking = false;
                          domain_gone_ = found && !found->contains(domain);
                        };
                      });
}

Result<void> ClaimWorks::Work::Execute(const ClaimStep& step) {
  const auto save = [&](const auto& change) {
    Checkpoint next = state_.checkpoint_file.checkpoint();
    change(next.claims);
    return state_.Save(std::move(next));
  };
  return std::visit(
      base::Overload{
          [&](const LabelNode& label) { return ChangeLabel({.to = label.domain}); },
          [&](const UnlabelNode& label) { return ChangeLabel({.from = label.domain}); },
          [&](const CreateDomainFolder& create) { return state_.disk.MakeFolder(create.domain); },
          [&](const WriteSpec& write) { return state_.claim_disk.WriteSpec(uid(), write.spec); },
          [&](const RemoveSpec&) { return state_.claim_disk.RemoveSpec(uid()); },
          [&](const FetchClaim&) {
            if (state_.api != nullptr) dra::ReadClaimFor(*state_.api, call_, claim_);
            return Result<void>();
          },
          [&](const RemoveFromCheckpoint& removed) -> Result<void> {
            TRY(save([&](auto& claims) { claims.erase(uid()); }));
            if (removed.keeps_label) state_.node.KeepLabelUntil(state_.clock.Now() + kLabelKept);
            return {};
          },
          [&](const CheckpointStarted&) {
            return save([&](auto& claims) { claims[uid()] = StartedClaim(*claim_); });
          },
          [&](const CheckpointCompleted& completed) {
            return save([&](auto& claims) {
              claims[uid()].state = ClaimState::kCompleted;
              claims[uid()].groups = completed.groups;
            });
          },
          [&](const CheckpointAborted& aborted) -> Result<void> {
            TRY(save([&](auto& claims) {
              CheckpointClaim& entry = claims[uid()];
              entry.name = call_.name.name;
              entry.ns = call_.name.ns;
              Abort(entry, aborted, state_.clock.Wall());
            }));
            if (aborted.keeps_label) state_.node.KeepLabelUntil(state_.clock.Now() + kLabelKept);
            // In the words of NVIDIA's plugin, by which tools look for it. So are other lines with
            // the claim in the sentence.
            state_.logger.Info("Marked claim PrepareAborted in checkpoint: " + call_.name.ns + "/" +
                               call_.name.name);
            return {};
          },
          [](const auto&) { return Result<void>(); },
      },
      step);
}

Result<void> ClaimWorks::Work::ChangeLabel(LabelChange change) {
  call_.asking = true;
  state_.node.ChangeLabel(*state_.api, std::move(change),
                          [this](const Result<void>& changed) { call_.Ended(changed); });
  return {};
}

}  // namespace plugin
