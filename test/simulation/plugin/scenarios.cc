#include <algorithm>
#include <utility>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/plugin/world.h"

namespace simulation {

namespace {

using Phases = std::vector<PluginPhase>;
using Names = std::set<std::string>;
using World = PluginWorld;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kSettles = minutes(3);
constexpr auto kAllIsOver = minutes(25);  // Two rounds of upkeep.

// All end, and then the domains are deleted.
void End(Phases& phases, const Names& pods, const Names& domains) {
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

// A domain, and a pod on each of two nodes.
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
  End(phases, {"p1", "p2"}, {"d1"});
  return phases;
}

// The next domain's pod comes to a node while the pod of another still holds the channel there;
// and one of the same domain after the other.
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
  End(phases, {"p2"}, {"d1", "d2"});
  return phases;
}

// Claims that are never to be prepared, beside one that is.
Phases WrongClaims() {
  Phases phases = {
      {.begin =
           [](World& world) {
             world.MakeDomain("d1", "train");
             world.MakeDomain("d2", "other");
             world.MakePod({.pod = "p1", .ns = "train", .domain = "d1"});
             world.MakePod({.pod = "thief", .ns = "other", .domain = "d1"});
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
  End(phases, {"p1", "thief", "spy", "typo", "path"}, {"d1", "d2"});
  return phases;
}

// A domain is deleted under its pods, one of which was prepared and one is on its way.
Phases DomainGoes() {
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

// The nodes have no fabric.
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
  End(phases, {"p1", "thief"}, {"d1"});
  return phases;
}

// A pod ends while it waits for a daemon that does not come up.
Phases EndedWhileItWaits() {
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
  End(phases, {"p2"}, {"d1"});
  return phases;
}

// A pod ends while it waits for a daemon, and another pod comes for the claim while it is noted
// that it was taken back.
Phases UsedAnew() {
  Phases phases = {
      {.begin =
           [](World& world) {
             world.SetDaemonsReady(false);
             world.MakeDomain("d1", "train");
             world.MakePod({.pod = "p1", .ns = "train", .domain = "d1", .keeps_claim = true});
           },
       .lasts = seconds(20)},
      {.begin = [](World& world) { world.EndPod("p1"); }, .lasts = seconds(110)},
      {.begin =
           [](World& world) {
             world.SetDaemonsReady(true);
             world.ReplaceUserOf("p1");
           },
       .lasts = kSettles,
       .prepared = Names{"p1"}}};
  End(phases, {"p1"}, {"d1"});
  return phases;
}

// A pod ends while it waits for the channel of another, of which nothing is noted yet; on a second
// node the plugin does not hear that the kubelet gave up.
Phases GivenUpWhileItWaits() {
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
  End(phases, {"p3"}, {"d1"});
  return phases;
}

// Somebody takes the label off under a running pod.
Phases LabelIsLost() {
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
  End(phases, {"p1"}, {"d1"});
  return phases;
}

}  // namespace

const std::vector<PluginScenario>& PluginScenarios() {
  static const std::vector<PluginScenario> scenarios = {
      {"one-domain", "P1", OneDomain()},
      {"two-domains-one-channel", "P2", TwoDomainsOneChannel()},
      {"wrong-claims", "P3", WrongClaims()},
      {"domain-deleted-under-pods", "P4", DomainGoes()},
      {"no-fabric", "P5", NoFabric()},
      {"pod-ends-while-waiting", "P6", EndedWhileItWaits()},
      {"claim-used-again", "P7", UsedAnew()},
      {"pod-given-up-while-waiting", "P8", GivenUpWhileItWaits()},
      {"label-lost-under-a-pod", "P9", LabelIsLost()}};
  return scenarios;
}

const PluginScenario* FindPluginScenario(const std::string& name) {
  const auto it = std::ranges::find_if(PluginScenarios(), [&](const PluginScenario& scenario) {
    return name == scenario.name || name == scenario.alias;
  });
  return it == PluginScenarios().end() ? nullptr : &*it;
}

}  // namespace simulation
