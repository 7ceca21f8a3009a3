#include "test/simulation/plugin/process.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"
#include "node/cdi/files.h"
#include "pkg/base/overload.h"
#include "pkg/base/rfc3339.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/request.h"
#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

using base::Result;
using json::Value;
using plugin::ClaimState;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kOldViewFor = seconds(15);
constexpr auto kAgain = seconds(1);      // After what failed.
constexpr auto kLookAgain = seconds(5);  // At what no watch tells.
constexpr auto kRoundEvery = minutes(10);
constexpr auto kFailedRoundEvery = seconds(30);
constexpr auto kMissingFor = minutes(1);
constexpr auto kLabelKept = seconds(5);
constexpr int kFrameLagMaxMs = 400;
constexpr int kNoTicket = -1;

const kube::ListOptions kEverything;

kube::ReflectorOptions Cliques(const plugin::NodeIdentity& self) {
  return {.resource = api::kComputeDomainCliques, .ns = self.driver_namespace};
}

// Decoded, those that can be.
template <typename Decode>
auto ItemsOf(const std::string& list, Decode decode) {
  std::vector<typename decltype(decode(std::string()))::value_type> items;
  const auto value = json::Parse(list);
  if (!value) return items;
  for (const Value& item : (*value)["items"].items()) {
    if (auto decoded = decode(json::Serialize(item))) items.push_back(*std::move(decoded));
  }
  return items;
}

Result<api::ComputeDomain> DecodeDomainText(const std::string& text) {
  json::Parser parser;
  return api::DecodeComputeDomain(TRY(parser.Parse(text)));
}

bool IsReadyIn(const std::vector<api::Member>& members, const std::string& node) {
  return std::ranges::any_of(
      members, [&](const api::Member& member) { return member.node == node && member.ready; });
}

}  // namespace

Plugin::Plugin(ApiServer& server, const NodeDisk& disk, PluginOptions options, Serve serve,
               EditDisk edit)
    : server_(server),
      disk_(disk),
      options_(std::move(options)),
      serve_(std::move(serve)),
      edit_(std::move(edit)),
      clock_(server.store()),
      born_(clock_.Wall()),
      random_(options_.seed),
      domains_(&api::DecodeComputeDomain, kube::kNoKeys, {}, logger_),
      cliques_(&api::DecodeClique, kube::kNoKeys, {}, logger_),
      domain_reflector_({.resource = api::kComputeDomains}, domains_, random_, logger_),
      clique_reflector_(Cliques(options_.self), cliques_, random_, logger_) {
  const auto lag = [this] {
    return microseconds(milliseconds(static_cast<int>(random_.Fraction() * kFrameLagMaxMs)));
  };
  for (kube::Reflector* reflector : {&domain_reflector_, &clique_reflector_}) {
    watches_.emplace_back(*reflector, server_, options_.client, serve_, clock_, lag);
  }
}

void Plugin::Call(Verb verb, const kube::ObjectKey& key, const kube::Uid& uid, int ticket) {
  for (PendingCall& call : calls_) {
    if (call.uid == uid && call.verb != verb) Withdraw(call);
  }
  calls_.push_back({.verb = verb, .key = key, .uid = uid, .ticket = ticket, .since = clock_.Now()});
}

void Plugin::Cancel(int ticket) {
  for (PendingCall& call : calls_) {
    if (call.ticket == ticket) Withdraw(call);
  }
}

void Plugin::Withdraw(PendingCall& call) {
  call.is_withdrawn = true;
  if (call.sleeps_until) call.sleeps_until = clock_.Now();
}

Revision Plugin::View() const {
  return clock_.Wall() < born_ + kOldViewFor ? options_.old_view : kNewest;
}

void Plugin::ExpireWatches() {
  for (Watcher& watch : watches_) watch.Expire();
}

bool Plugin::Step() {
  if (StepWatches()) return true;
  if (!started_) return StepStart();
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (Sleeps(calls_.front())) {
      std::ranges::rotate(calls_, calls_.begin() + 1);
      continue;
    }
    if (StepCall(calls_.front())) {
      if (calls_.front().over) {
        calls_.pop_front();
      } else {
        std::ranges::rotate(calls_, calls_.begin() + 1);
      }
      return true;
    }
  }
  return StepGarbage();
}

bool Plugin::StepWatches() {
  for (Watcher& watch : watches_) {
    if (!watch.Step(View())) continue;
    ++news_;
    return true;
  }
  return false;
}

std::optional<Time> Plugin::NextDue() const {
  std::optional<Time> due;
  const auto at = [&](std::optional<Time> time) {
    if (time) due = std::min(due.value_or(*time), *time);
  };
  for (const Watcher& watch : watches_) at(watch.NextDue());
  if (!started_) {
    at(clock_.ToWall(start_again_));
    return due;
  }
  for (const PendingCall& call : calls_) {
    if (call.sleeps_until) at(clock_.ToWall(*call.sleeps_until));
  }
  at(clock_.ToWall(next_round_));
  return due;
}

// What the server says, if it says it.
std::optional<std::string> Plugin::Text(const http::Request& request) {
  const auto reply = kube::CheckStatus(serve_(request), request.method);
  return reply ? std::optional(reply->body.text()) : std::nullopt;
}

bool Plugin::ReadNode() {
  node_.reset();
  const auto text = Text(kube::GetRequest(kube::kNodes, {.name = options_.self.node}));
  if (!text) return false;
  const auto node = json::Parse(*text);
  if (!node) return false;
  const Value& meta = (*node)["metadata"];
  node_ = {.domain = meta["labels"][kDomainLabel].AsString(),
           .version = meta["resourceVersion"].AsString()};
  return true;
}

std::optional<std::vector<api::ComputeDomain>> Plugin::ListDomains() {
  const auto text = Text(kube::ListRequest(api::kComputeDomains, kEverything));
  if (!text) return {};
  return ItemsOf(*text, &DecodeDomainText);
}

// ---- Start

bool Plugin::StepStart() {
  const auto now = clock_.Now();
  if (now < start_again_) return false;
  start_again_ = now + kAgain;  // Unless it succeeds.
  if (!resumed_) resumed_ = options_.rules.resume(disk_.checkpoint, disk_.boot_id);
  plugin::Checkpoint checkpoint = resumed_->checkpoint;
  if (resumed_->from == plugin::Resumed::From::kUnreadable) {
    if (!node_) {
      if (ReadNode()) start_again_ = now;
      return true;
    }
    if (!claims_) {
      const auto text = Text(kube::ListRequest(kube::kResourceClaims, kEverything));
      if (!text) return true;
      claims_ =
          ItemsOf(*text, [](const std::string& item) { return plugin::DecodeResourceClaim(item); });
      start_again_ = now;
      return true;
    }
    checkpoint = options_.rules.rebuild(options_.self, disk_.boot_id, *claims_, FindResidue());
  }
  started_ = WriteCheckpoint(std::move(checkpoint)).has_value();
  node_.reset();
  return true;
}

// ---- Calls

bool Plugin::Sleeps(const PendingCall& call) const {
  return call.sleeps_until && clock_.Now() < *call.sleeps_until && call.slept_at == news_;
}

void Plugin::Sleep(PendingCall& call, plugin::TimePoint until) {
  call.sleeps_until = until;
  call.slept_at = news_;
}

bool Plugin::ReadClaim(PendingCall& call) {
  const auto text = Text(kube::GetRequest(kube::kResourceClaims, call.key));
  if (!text) return false;
  auto claim = plugin::DecodeResourceClaim(*text);
  if (!claim || claim->uid != call.uid) return false;
  call.claim = *std::move(claim);
  return true;
}

// Each time at most one request or edit.
bool Plugin::StepCall(PendingCall& call) {
  if (call.sleeps_until) {  // What it saw may be old.
    call.sleeps_until.reset();
    call.tried_node = call.looked_for_domain = false;
    node_.reset();
  }
  if (call.verb == Verb::kPrepare && !call.claim) {
    if (!ReadClaim(call)) Answer(call, {.error = "the claim cannot be read"});
    return true;
  }
  if (!node_ && !call.tried_node) {
    call.tried_node = true;
    static_cast<void>(ReadNode());
    return true;
  }
  const bool names_one = call.claim && call.claim->wanted;
  const bool needs_domain = names_one && !FindDomain(call.claim->wanted->config.domain);
  if (needs_domain && domain_reflector_.HasSynced() && !call.looked_for_domain) {
    call.domain.reset();
    if (const auto domains = ListDomains()) {
      call.looked_for_domain = true;
      for (const api::ComputeDomain& domain : *domains) {
        if (domain.meta.uid != call.claim->wanted->config.domain) continue;
        call.domain = {
            .uid = domain.meta.uid, .name = domain.meta.key.name, .ns = domain.meta.key.ns};
      }
    } else {
      Sleep(call, clock_.Now() + kAgain);
    }
    return true;
  }
  plugin::NodeObservation observed = Observe(call);
  if (call.verb == Verb::kUnprepare && KeepsLabel(call)) {
    observed.keeps_label = true;
    label_kept_until_ = observed.now + kLabelKept;
    next_round_ = std::min(next_round_, label_kept_until_);
  }
  Execute(call,
          call.verb == Verb::kPrepare
              ? options_.rules.prepare(options_.self, call.uid, &*call.claim, checkpoint_, observed)
              : options_.rules.unprepare(options_.self, call.uid, checkpoint_, observed));
  return true;
}

std::optional<plugin::DomainIdentity> Plugin::FindDomain(const std::string& uid) const {
  for (const auto& domain : domains_.List()) {
    if (domain->meta.uid != uid) continue;
    return plugin::DomainIdentity{.uid = uid,
                                  .name = domain->meta.key.name,
                                  .ns = domain->meta.key.ns,
                                  .is_deleting = domain->meta.deleting};
  }
  return {};
}

bool Plugin::IsAlive(const std::string& domain) const {
  const auto found = FindDomain(domain);
  return found && !found->is_deleting;
}

bool Plugin::KeepsLabel(const PendingCall& call) const {
  const auto it = checkpoint_.claims.find(call.uid);
  const auto use = it == checkpoint_.claims.end() ? std::nullopt : plugin::UseOf(it->second);
  return use && use->type == plugin::DeviceType::kChannel && node_ &&
         node_->domain == use->domain && IsAlive(use->domain);
}

bool Plugin::IsReady(const std::string& domain) const {
  const plugin::NodeIdentity& self = options_.self;
  const auto clique = cliques_.Get(
      {.ns = self.driver_namespace, .name = simulation::CliqueName(domain, self.clique)});
  if (clique && IsReadyIn(clique->daemons, self.node)) return true;
  const auto domains = domains_.List();
  return std::ranges::any_of(domains, [&](const auto& seen) {
    return seen->meta.uid == domain && IsReadyIn(seen->status.nodes, self.node);
  });
}

plugin::NodeObservation Plugin::Observe(const PendingCall& call) const {
  plugin::NodeObservation observed = {.node_read = node_.has_value(),
                                      .node_domain = node_ ? node_->domain : "",
                                      .has_driver_spec = true,
                                      .is_withdrawn = call.is_withdrawn,
                                      .called = clock_.ToWall(call.since),
                                      .since = call.since,
                                      .now = clock_.Now()};
  if (const auto spec = disk_.specs.find(call.uid); spec != disk_.specs.end()) {
    observed.has_spec = true;
    if (auto parsed = cdi::Parse(spec->second, call.uid)) observed.spec = *std::move(parsed);
  }
  const auto entry = checkpoint_.claims.find(call.uid);
  const auto use = entry == checkpoint_.claims.end() ? std::nullopt : plugin::UseOf(entry->second);
  observed.has_folder = use && disk_.folders.contains(use->domain);
  if (!call.claim || !call.claim->wanted) return observed;
  const std::string& domain = call.claim->wanted->config.domain;
  observed.domain = FindDomain(domain);
  if (!observed.domain && call.looked_for_domain) {
    observed.domain = call.domain;
    observed.domain_gone = !call.domain;
  }
  observed.is_ready = IsReady(domain);
  observed.has_folder = disk_.folders.contains(domain);
  return observed;
}

void Plugin::Execute(PendingCall& call, const plugin::ClaimStep& step) {
  if (const auto* answer = std::get_if<plugin::AnswerKubelet>(&step)) return Answer(call, *answer);
  const auto now = clock_.Now();
  if (const auto* wait = std::get_if<plugin::WaitForChange>(&step)) {
    return Sleep(call, std::min(wait->until, now + kLookAgain));
  }
  const auto done = Try(call, step);
  if (done) return;
  if (now >= call.since + plugin::kAnswerAfter)
    return Answer(call, {.error = done.error().message});
  Sleep(call, now + kAgain);
}

Result<void> Plugin::WriteCheckpoint(plugin::Checkpoint checkpoint) {
  TRY(edit_({.what = DiskEdit::What::kCheckpoint, .text = plugin::Encode(checkpoint)}));
  checkpoint_ = std::move(checkpoint);
  return {};
}

// On the node as it was seen; empty: none.
Result<void> Plugin::Label(const std::string& domain) {
  Value labels = Value::Object();
  labels[kDomainLabel] = domain.empty() ? Value() : Value(domain);
  const Value patch = Value::Object(
      {{"metadata",
        Value::Object({{"resourceVersion", node_->version}, {"labels", std::move(labels)}})}});
  const http::Request request =
      kube::MergePatchRequest(kube::kNodes, {.name = options_.self.node}, patch);
  node_.reset();
  for (PendingCall& call : calls_) call.tried_node = false;
  TRY(kube::CheckStatus(serve_(request), request.method));
  return {};
}

Result<void> Plugin::Try(PendingCall& call, const plugin::ClaimStep& step) {
  const auto change_claims = [&](const auto& change) {
    plugin::Checkpoint next = checkpoint_;
    change(next.claims);
    return WriteCheckpoint(std::move(next));
  };
  return std::visit(
      base::Overload{
          [&](const plugin::CheckpointStarted&) {
            return change_claims(
                [&](auto& claims) { claims[call.uid] = plugin::StartedClaim(*call.claim); });
          },
          [&](const plugin::CheckpointCompleted& completed) {
            return change_claims([&](auto& claims) {
              claims[call.uid].state = ClaimState::kCompleted;
              claims[call.uid].groups = completed.groups;
            });
          },
          [&](const plugin::CheckpointAborted& aborted) {
            return change_claims(
                [&](auto& claims) { plugin::Abort(claims[call.uid], aborted, clock_.Wall()); });
          },
          [&](const plugin::RemoveFromCheckpoint&) {
            return change_claims([&](auto& claims) { claims.erase(call.uid); });
          },
          [&](const plugin::LabelNode& label) { return Label(label.domain); },
          [&](const plugin::UnlabelNode&) { return Label(""); },
          [&](const plugin::CreateDomainFolder& create) {
            return edit_({.what = DiskEdit::What::kMakeFolder, .name = create.domain});
          },
          [&](const plugin::WriteSpec& write) {
            return edit_({.what = DiskEdit::What::kWriteSpec,
                          .name = call.uid,
                          .text = cdi::Render(write.spec)});
          },
          [&](const plugin::RemoveSpec&) {
            return edit_({.what = DiskEdit::What::kRemoveSpec, .name = call.uid});
          },
          [](const auto&) { return Result<void>(); },
      },
      step);
}

void Plugin::Answer(PendingCall& call, const plugin::AnswerKubelet& result) {
  call.over = true;
  if (call.ticket == kNoTicket) return;
  PluginAnswer answer = {
      .verb = call.verb, .ticket = call.ticket, .uid = call.uid, .error = result.error};
  for (const plugin::PreparedGroup& group : result.groups) {
    for (const plugin::PreparedDevice& device : group.devices) {
      answer.cdi_ids.insert(answer.cdi_ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
    }
  }
  answers_.push_back(std::move(answer));
}

// ---- Garbage collection

plugin::NodeResidue Plugin::FindResidue() const {
  plugin::NodeResidue residue = {.domains_gone = domains_gone_,
                                 .node_domain = node_ ? node_->domain : "",
                                 .now = clock_.Wall()};
  for (const std::string& domain : plugin::UsedDomains(checkpoint_)) {
    if (IsAlive(domain)) residue.domains_alive.insert(domain);
  }
  residue.keeps_label = clock_.Now() < label_kept_until_ && IsAlive(residue.node_domain);
  for (const auto& [uid, spec] : disk_.specs) residue.specs.push_back(uid);
  residue.folders = {disk_.folders.begin(), disk_.folders.end()};
  return residue;
}

void Plugin::EndRound(bool failed) {
  next_round_ = clock_.Now() + (failed ? seconds(kFailedRoundEvery) : seconds(kRoundEvery));
  if (label_kept_until_ > clock_.Now()) next_round_ = std::min(next_round_, label_kept_until_);
  if (!missing_.empty()) next_round_ = std::min(next_round_, clock_.Now() + kMissingFor);
  listed_ = false;
  domains_gone_.clear();
  looked_up_.clear();
}

// Each time at most one request or edit. What there is to do is determined each time, since a call
// may have changed the checkpoint in between.
bool Plugin::StepGarbage() {
  if (clock_.Now() < next_round_) return false;
  if (!listed_) {
    const auto domains = ListDomains();
    if (!domains) {
      EndRound(true);
      return true;
    }
    domains_gone_ = disk_.folders;
    for (const api::ComputeDomain& domain : *domains) domains_gone_.erase(domain.meta.uid);
    node_.reset();
    listed_ = true;
    return true;
  }
  if (!node_) {
    if (!ReadNode()) EndRound(true);
    return true;
  }
  const plugin::GarbagePlan garbage =
      options_.rules.find_garbage(options_.self, checkpoint_, FindResidue());
  if (!CollectGarbage(garbage)) EndRound(true);
  return true;
}

// The first thing of it. False: it failed.
bool Plugin::CollectGarbage(const plugin::GarbagePlan& garbage) {
  if (!garbage.remove_specs.empty()) {
    return edit_({.what = DiskEdit::What::kRemoveSpec, .name = garbage.remove_specs.front()})
        .has_value();
  }
  if (garbage.unlabel) return Label("").has_value();
  if (!garbage.relabel.empty()) return Label(garbage.relabel).has_value();
  if (!garbage.remove_folders.empty()) {
    return edit_({.what = DiskEdit::What::kRemoveFolder, .name = garbage.remove_folders.front()})
        .has_value();
  }
  if (!garbage.forget.empty()) {
    plugin::Checkpoint next = checkpoint_;
    for (const std::string& uid : garbage.forget) next.claims.erase(uid);
    return WriteCheckpoint(std::move(next)).has_value();
  }
  for (const std::string& uid : garbage.look_up) {
    if (!looked_up_.insert(uid).second) continue;
    const auto& entry = checkpoint_.claims.at(uid);
    const kube::ObjectKey key = {.ns = entry.ns, .name = entry.name};
    const auto reply = serve_(kube::GetRequest(kube::kResourceClaims, key));
    if (!reply || (reply->status != 200 && reply->status != 404)) return false;
    const auto claim = plugin::DecodeResourceClaim(reply->body);
    const bool is_there = reply->status == 200 && claim && claim->uid == uid;
    if (is_there) {
      missing_.erase(uid);
      return true;
    }
    const plugin::TimePoint since = missing_.emplace(uid, clock_.Now()).first->second;
    const bool may_run =
        entry.state == ClaimState::kCompleted && clock_.Now() < since + kMissingFor;
    if (may_run) return true;
    missing_.erase(uid);
    Call(Verb::kUnprepare, key, uid, kNoTicket);
    return true;
  }
  EndRound(false);
  return true;
}

}  // namespace simulation
