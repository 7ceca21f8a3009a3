#include <utility>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/plugin/world.h"

namespace simulation {

namespace {

using Phases = std::vector<PluginPhase<DomainWorld>>;
using Names = std::set<std::string>;
using World = DomainWorld;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kSettles = minutes(3);
constexpr auto kAllIsOver = minutes(25);  // Two rounds of garbage collection.

// The pods end, and then the domains are deleted.
void EndAndDelete(Phases& phases, const Names& pods, const Names& domains) {
  phases.push_back({.begin =
                        [pods](World& world) {
                          for (const std::string& pod : pods) world.EndPod(pod);
                        },
                    .lasts = kAllIsOver,
                    .prepared = Names()});
  phases.push_back({.begin =
                        [domains](World& world) {
                          for (const std::string& domain : domains) world.DeleteDomain(domain);
                        },
                    .lasts = kAllIsOver,
                    .prepared = Names(),
                    .is_last = true});
}

Phases OneDomain() {
  Phases phases = {{.begin =
                        [](World& world) {
                          world.MakeDomain("d1", "train");
                          world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
                          world.MakePod(
                              {.pod = "p2", .ns = "train", .domain = "d1", .node = "node-b"});
                        },
                    .lasts = kSettles,
                    .prepared = Names{"p1", "p2"}}};
  EndAndDelete(phases, {"p1", "p2"}, {"d1"});
  return phases;
}

Phases TwoDomainsOneChannel() {
  Phases phases = {{.begin =
                        [](World& world) {
                          world.MakeDomain("d1", "train");
                          world.MakeDomain("d2", "other");
                          world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
                        },
                    .lasts = kSettles,
                    .prepared = Names{"p1"}},
                   {.begin =
                        [](World& world) {
                          world.MakePod({.pod = "p2", .ns = "other", .domain = "d2"});
                          world.MakePod({.pod = "p3", .ns = "train", .domain = "d1"});
                        },
                    .lasts = kSettles,
                    .prepared = Names{"p1"},
                    .any_one = true},
                   {.begin = [](World& world) { world.EndPod("p1"); }, .lasts = kSettles},
                   {.begin = [](World& world) { world.EndPod("p3"); },
                    .lasts = kSettles,
                    .prepared = Names{"p2"}}};
  EndAndDelete(phases, {"p2"}, {"d1", "d2"});
  return phases;
}

Phases WrongClaims() {
  Phases phases = {
      {.begin =
           [](World& world) {
             world.MakeDomain("d1", "train");
             world.MakeDomain("d2", "other");
             world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
             world.MakePod({.pod = "thief", .ns = "other", .domain = "d1", .node = "node-b"});
             world.MakePod({.pod = "spy",
                            .ns = "train",
                            .domain = "d1",
                            .node = "node-b",
                            .device = "daemon-0"});
             world.MakePod({.pod = "typo",
                            .ns = "train",
                            .domain = "d1",
                            .node = "node-b",
                            .extra_field = "allocationmode"});
             world.MakePod({.pod = "path", .ns = "train", .domain = "../../etc", .node = "node-b"});
           },
       .lasts = kSettles,
       .prepared = Names{"p1"}}};
  EndAndDelete(phases, {"p1", "thief", "spy", "typo", "path"}, {"d1", "d2"});
  return phases;
}

Phases DomainDeletedUnderPods() {
  return {{.begin =
               [](World& world) {
                 world.MakeDomain("d1", "train");
                 world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
               },
           .lasts = kSettles,
           .prepared = Names{"p1"}},
          {.begin =
               [](World& world) {
                 world.MakePod({.pod = "p2", .ns = "train", .domain = "d1", .node = "node-b"});
               },
           .lasts = seconds(2)},
          {.begin = [](World& world) { world.DeleteDomain("d1"); }, .lasts = kSettles},
          {.begin =
               [](World& world) {
                 world.EndPod("p1");
                 world.EndPod("p2");
               },
           .lasts = kAllIsOver,
           .prepared = Names(),
           .is_last = true}};
}

Phases NoFabric() {
  Phases phases = {{.begin =
                        [](World& world) {
                          world.SetFabric("");
                          world.MakeDomain("d1", "train");
                          world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
                          world.MakePod({.pod = "thief", .ns = "other", .domain = "d1"});
                        },
                    .lasts = kSettles,
                    .prepared = Names{"p1"}}};
  EndAndDelete(phases, {"p1", "thief"}, {"d1"});
  return phases;
}

Phases PodEndsWhileWaiting() {
  Phases phases = {{.begin =
                        [](World& world) {
                          world.SetDaemonsReady(false);
                          world.MakeDomain("d1", "train");
                          world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
                        },
                    .lasts = minutes(1)},
                   {.begin = [](World& world) { world.EndPod("p1"); }, .lasts = kSettles},
                   {.begin =
                        [](World& world) {
                          world.SetDaemonsReady(true);
                          world.MakePod({.pod = "p2", .ns = "train", .domain = "d1"});
                        },
                    .lasts = kSettles,
                    .prepared = Names{"p2"}}};
  EndAndDelete(phases, {"p2"}, {"d1"});
  return phases;
}

// The second pod comes while the checkpoint has the claim as aborted.
Phases ClaimUsedAgain() {
  Phases phases = {
      {.begin =
           [](World& world) {
             world.SetDaemonsReady(false);
             world.MakeDomain("d1", "train");
             world.MakePod({.pod = "p1", .ns = "train", .domain = "d1", .keeps_claim = true});
           },
       .lasts = seconds(20)},
      {.begin = [](World& world) { world.EndPod("p1"); }, .lasts = seconds(60)},
      {.begin =
           [](World& world) {
             world.SetDaemonsReady(true);
             world.ReplaceUserOf("p1");
           },
       .lasts = seconds(15),
       .prepared = Names{"p1"}}};
  EndAndDelete(phases, {"p1"}, {"d1"});
  return phases;
}

// The claim of the second pod is not in the checkpoint yet. On node-b the plugin does not hear that
// the kubelet gave up.
Phases PodGivenUpWhileWaiting() {
  const auto make_pods = [](World& world, const std::string& name) {
    for (const char* node : {"node-a", "node-b"}) {
      world.MakePod({.pod = name + "-on-" + node, .ns = "train", .domain = "d1", .node = node});
    }
  };
  const auto end_pods = [](World& world, const std::string& name) {
    for (const char* node : {"node-a", "node-b"}) world.EndPod(name + "-on-" + node);
  };
  Phases phases = {
      {.begin =
           [make_pods](World& world) {
             world.MakeDomain("d1", "train");
             make_pods(world, "p1");
           },
       .lasts = kSettles,
       .prepared = Names{"p1-on-node-a", "p1-on-node-b"}},
      {.begin = [make_pods](World& world) { make_pods(world, "p2"); }, .lasts = seconds(10)},
      {.begin = [end_pods](World& world) { end_pods(world, "p2"); }, .lasts = seconds(2)},
      {.begin = [end_pods](World& world) { end_pods(world, "p1"); },
       .lasts = kSettles,
       .prepared = Names()},
      {.begin = [](World& world) { world.MakePod({.pod = "p3", .ns = "train", .domain = "d1"}); },
       .lasts = kSettles,
       .prepared = Names{"p3"}}};
  EndAndDelete(phases, {"p3"}, {"d1"});
  return phases;
}

Phases LabelLostUnderAPod() {
  Phases phases = {{.begin =
                        [](World& world) {
                          world.MakeDomain("d1", "train");
                          world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
                        },
                    .lasts = kSettles,
                    .prepared = Names{"p1"}},
                   {.begin = [](World& world) { world.RemoveLabel("node-a"); },
                    .lasts = kAllIsOver,
                    .prepared = Names{"p1"}}};
  EndAndDelete(phases, {"p1"}, {"d1"});
  return phases;
}

}  // namespace

const std::vector<PluginScenario<DomainWorld>>& PluginScenarios() {
  static const std::vector<PluginScenario<DomainWorld>> scenarios = {
      {
          .name = "one-domain",
          .what = "A pod of one domain on each of two nodes is prepared, and ends",
          .phases = OneDomain(),
      },
      {
          .name = "two-domains-one-channel",
          .what = "Pods of two domains compete for the channel of a node",
          .phases = TwoDomainsOneChannel(),
      },
      {
          .name = "wrong-claims",
          .what = "Claims with a wrong namespace, device, field or domain stay unprepared",
          .phases = WrongClaims(),
      },
      {
          .name = "domain-deleted-under-pods",
          .what = "A user deletes the domain while one pod runs and another waits",
          .phases = DomainDeletedUnderPods(),
      },
      {
          .name = "no-fabric",
          .what = "A domain is used on nodes without NVLink fabric",
          .phases = NoFabric(),
      },
      {
          .name = "pod-ends-while-waiting",
          .what = "A pod ends while it waits for a daemon that is not ready",
          .phases = PodEndsWhileWaiting(),
      },
      {
          .name = "claim-used-again",
          .what = "A pod ends while it waits for a daemon, and another pod uses its claim",
          .phases = ClaimUsedAgain(),
      },
      {
          .name = "pod-given-up-while-waiting",
          .what = "A pod ends while it waits for a channel that another pod holds",
          .phases = PodGivenUpWhileWaiting(),
      },
      {
          .name = "label-lost-under-a-pod",
          .what = "An administrator removes a node's label while a pod runs",
          .phases = LabelLostUnderAPod(),
      },
  };
  return scenarios;
}

}  // namespace simulation
