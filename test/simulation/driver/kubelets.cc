// Users, kubelets and time.
#include <algorithm>
#include <utility>

#include "pkg/base/check.h"
#include "test/simulation/driver/world.h"

namespace simulation {

namespace {

using json::Value;
using std::chrono::seconds;

constexpr auto kKubeletWaits = seconds(45);
constexpr int kNobody = -1;  // The ticket of a call whose answer nobody awaits.

Value Consumer(const std::string& pod) {
  return Value::Object({{"resource", "pods"}, {"name", pod}, {"uid", "uid-of-" + pod}});
}

}  // namespace

// ---- Users

PluginPod& PluginWorld::AddPod(const PluginPodOptions& options, const Value& devices) {
  const kube::ObjectKey key = {.ns = options.ns,
                               .name = options.claim.empty() ? options.pod : options.claim};
  const bool is_shared = store_.Get(Kind::kClaim, key) != nullptr;
  if (!is_shared) {
    const Value object = Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                                        {"kind", "ResourceClaim"},
                                        {"metadata", Value::Object({{"name", key.name}})},
                                        {"spec", Value::Object({{"devices", Value::Object({})}})}});
    CHECK(store_.Create("user", Kind::kClaim, options.ns, object).ok());
  }
  const Reply allocated = store_.Edit(
      "scheduler", Kind::kClaim, key,
      [&](Value& claim) {
        if (is_shared) return claim["status"]["reservedFor"].Append(Consumer(options.pod));
        claim["status"] = Value::Object({{"allocation", Value::Object({{"devices", devices}})},
                                         {"reservedFor", Value::Array({Consumer(options.pod)})}});
      },
      Subresource::kStatus);
  CHECK(allocated.ok());
  pods_.push_back(std::make_unique<PluginPod>(PluginPod{.name = options.pod,
                                                        .key = key,
                                                        .uid = allocated.object->uid(),
                                                        .node = options.node,
                                                        .keeps_claim = options.keeps_claim,
                                                        .call_at = store_.now()}));
  Trace("pod " + options.pod + " with claim " + pods_.back()->uid);
  return *pods_.back();
}

void PluginWorld::EndPod(const std::string& name) {
  for (const auto& pod : pods_) {
    if (pod->name != name || pod->state == State::kGone) continue;
    pod->state = State::kEnding;
    pod->is_replaced = false;
    pod->call_at = store_.now();
  }
  Trace("pod " + name + " ends");
}

void PluginWorld::ReplaceUserOf(const std::string& name) {
  for (const auto& pod : pods_) {
    if (pod->name != name) continue;
    Trace("another pod uses the claim of " + name);
    CHECK(pod->state == State::kGone);
    const std::string other = name + "-" + std::to_string(++replaced_);
    CHECK(store_
              .Edit(
                  "scheduler", Kind::kClaim, pod->key,
                  [&](Value& claim) {
                    claim["status"]["reservedFor"] = Value::Array({Consumer(other)});
                  },
                  Subresource::kStatus)
              .ok());
    pod->state = State::kWanted;
    pod->call_at = store_.now();
  }
}

// ---- Kubelets

bool PluginWorld::IsShared(const PluginPod& pod) const {
  return std::ranges::any_of(pods_, [&](const auto& other) {
    return other.get() != &pod && other->uid == pod.uid && other->state != State::kGone;
  });
}

// Without a call: the claim is another pod's too, or the kubelet has not called for it.
void PluginWorld::EndNow(PluginPod& pod) {
  pod.state = State::kGone;
  const bool is_shared = IsShared(pod);
  for (const auto& other : pods_) {
    if (!pod.called || other.get() == &pod || other->uid != pod.uid) continue;
    other->called = true;
    other->called_in = pod.called_in;
  }
  if (is_shared) pod.called = false;
  if (std::exchange(pod.is_replaced, false)) return ReplaceUserOf(pod.name);
  if (is_shared || pod.keeps_claim) return;
  static_cast<void>(store_.Delete("claim-controller", Kind::kClaim, pod.key));
}

bool PluginWorld::StepKubelet(Node& node, PluginPod& pod) {
  Plugin* const serving = Serving(node);
  if (pod.state == State::kGone || serving == nullptr) return false;
  const Time now = store_.now();
  if (pod.ticket) {
    if (pod.state == State::kEnding && pod.verb == Verb::kPrepare) {
      // On node-b the plugin hears of it too late.
      for (const auto& process : node.plugins) {
        if (node.name == "node-a") process->Cancel(*pod.ticket);
      }
      pod.ticket.reset();
      pod.call_at = now;
      return true;
    }
    if (now < pod.called_at + kKubeletWaits) return false;
    Log(node, PluginEvent::What::kNotAnswered, pod.uid);
    pod.ticket.reset();
    pod.call_at = now + kKubeletRetriesIn;
    return true;
  }
  if (pod.state == State::kPrepared || now < pod.call_at) return false;
  if (pod.state == State::kEnding && (!pod.called || IsShared(pod))) {
    EndNow(pod);
    return true;
  }
  pod.called = true;
  pod.verb = pod.state == State::kWanted ? Verb::kPrepare : Verb::kUnprepare;
  if (pod.verb == Verb::kPrepare) {
    pod.called_in = node.disk.boot_id;
    Log(node, PluginEvent::What::kCalled, pod.uid);
  } else {
    Log(node, PluginEvent::What::kEnding, pod.uid);
  }
  pod.ticket = ++tickets_;
  pod.called_at = now;
  pod.process = serving->number();
  serving->Call(pod.verb, pod.key, pod.uid, *pod.ticket);
  return true;
}

void PluginWorld::Take(Node& node, const PluginAnswer& answer) {
  const auto it =
      std::ranges::find_if(pods_, [&](const auto& pod) { return pod->ticket == answer.ticket; });
  Trace(node.name + " answers " + (answer.verb == Verb::kPrepare ? "prepare " : "unprepare ") +
        answer.uid + ": " + (answer.error.empty() ? "done" : answer.error));
  if (it == pods_.end()) return;  // Nobody listens any more.
  PluginPod& pod = **it;
  pod.ticket.reset();
  pod.call_at = store_.now() + kKubeletRetriesIn;
  if (!answer.error.empty()) {
    Log(node, PluginEvent::What::kRefused, answer.uid).text = answer.error;
    return;
  }
  if (answer.verb == Verb::kPrepare) {
    Log(node, PluginEvent::What::kPrepared, answer.uid).cdi_ids = answer.cdi_ids;
    if (pod.state != State::kWanted) return;
    pod.state = State::kPrepared;
    pod.prepared_at = store_.now();
    return;
  }
  PluginEvent& event = Log(node, PluginEvent::What::kUnprepared, answer.uid);
  pod.state = State::kGone;
  pod.called = false;
  OnUnprepared(node, pod, event);
  if (pod.is_replaced) {
    pod.is_replaced = false;
    ReplaceUserOf(pod.name);
  } else if (!pod.keeps_claim) {
    static_cast<void>(store_.Delete("claim-controller", Kind::kClaim, pod.key));
  }
}

void PluginWorld::ForgetPod(PluginPod& pod, bool keeps_claim) {
  pod.state = State::kGone;
  pod.ticket.reset();
  Log(*nodes_.at(pod.node), PluginEvent::What::kEnding, pod.uid);
  Trace("pod " + pod.name + " is forgotten");
  if (keeps_claim) return;
  static_cast<void>(store_.Delete("claim-controller", Kind::kClaim, pod.key));
}

// The control plane ends the pods, and deletes their claims.
void PluginWorld::Forget(const Node& node) {
  Trace(node.name + ": the kubelet forgets its pods");
  std::set<kube::Uid> claims;
  for (const auto& pod : pods_) {
    const bool is_known = pod->node == node.name && pod->state != State::kGone && pod->called;
    if (is_known) claims.insert(pod->uid);
  }
  std::vector<PluginPod*> again;
  for (const auto& pod : pods_) {
    if (pod->state == State::kGone || !claims.contains(pod->uid)) continue;
    const bool was_ending = pod->state == State::kEnding;
    const bool keeps_claim = was_ending && pod->keeps_claim;
    ForgetPod(*pod, keeps_claim);
    if (keeps_claim) continue;
    pod->name += " (forgotten)";
    if (!pod->is_daemon && !was_ending) again.push_back(pod.get());
  }
  for (const PluginPod* pod : again) MakeAgain(*pod, pod->key.name + "-again");
}

bool PluginWorld::StepLateCalls() {
  const auto due = std::ranges::find_if(late_calls_, [&](const LateCall& call) {
    return call.at <= store_.now() && Serving(*nodes_.at(call.node)) != nullptr;
  });
  if (due == late_calls_.end()) return false;
  Serving(*nodes_.at(due->node))->Call(Verb::kPrepare, due->key, due->uid, kNobody);
  late_calls_.erase(due);
  return true;
}

bool PluginWorld::IsUnderWay(const PluginPod& pod) {
  return pod.state == State::kWanted && pod.ticket && pod.verb == Verb::kPrepare;
}

// ---- Time

Time PluginWorld::NextDue() const {
  Time due = store_.now() + std::chrono::hours(1);
  const auto at = [&](Time time) {
    if (time > store_.now()) due = std::min(due, time);
  };
  for (const auto& [name, node] : nodes_) {
    at(node->start_at);
    at(node->lock_free_at);
    at(node->elder_ends_at);
    at(node->rolls_at);
    for (const auto& process : node->plugins) at(process->NextDue());
  }
  for (const LateCall& call : late_calls_) at(call.at);
  for (const auto& pod : pods_) {
    at(pod->call_at);
    if (pod->ticket) at(pod->called_at + kKubeletWaits);
  }
  at(NextOfWorkload());
  return due;
}

void PluginWorld::RunFor(seconds time) {
  constexpr int kStepsMax = 20'000;
  const Time end = store_.now() + time;
  for (int steps = 0; store_.now() < end;) {
    while (StepAll()) {
      if (++steps < kStepsMax) continue;
      outcome_.violations.push_back("N-5: it never comes to rest");
      return;
    }
    store_.SetTime(std::min(end, NextDue()));
  }
}

void PluginWorld::RunToRest(seconds time) {
  // What the kubelet has forgotten, a collection finds every 10 minutes.
  const bool is_long =
      spec_.fault == PluginFault::kDriverUnreadable || spec_.fault == PluginFault::kGpuLost;
  const auto settles_in = std::chrono::minutes(spec_.fault == PluginFault::kKubeletForgets ? 25
                                               : is_long                                   ? 6
                                                                                           : 3);
  RunFor(time);
  const auto since = store_.now() - faulted_at_;
  if (since < settles_in) RunFor(std::chrono::ceil<seconds>(settles_in - since));
}

// N-5, and the nodes.
void PluginWorld::CheckRest(const Rest& wanted) {
  std::string rest;
  std::set<std::string> prepared;
  for (const auto& pod : pods_) {
    if (!pod->is_daemon && pod->state == State::kPrepared) prepared.insert(pod->name);
  }
  for (const std::string& name : prepared) rest += name + " is prepared; ";
  const bool is_right = wanted.any_one ? prepared.size() == 1 : prepared == wanted.prepared;
  const bool is_excused =
      spec_.fault == PluginFault::kDomainDeleted || wanted.except.contains(spec_.fault);
  if (!is_right && !is_excused) Report("N-5: other pods are prepared than should be: " + rest);
  for (const auto& [name, node] : nodes_) {
    CheckNode(*node, wanted.is_last);
    rest += Describe(*node);
  }
  Trace("at rest: " + rest);
  if (!wanted.any_one && wanted.except.empty()) outcome_.rests.push_back(std::move(rest));
}

}  // namespace simulation
