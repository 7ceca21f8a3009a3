#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/gpu/machine.h"
#include "test/simulation/gpu/world.h"

namespace simulation {

namespace {

using Phases = std::vector<PluginPhase<GpuWorld>>;
using Names = std::set<std::string>;
using World = GpuWorld;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kSettles = minutes(3);
constexpr auto kAllIsOver = minutes(25);  // Two rounds of garbage collection.

// The pods end.
PluginPhase<GpuWorld> End(const Names& pods) {
  return {.begin =
              [pods](World& world) {
                for (const std::string& pod : pods) world.EndPod(pod);
              },
          .lasts = kSettles,
          .prepared = Names(),
          .is_last = true};
}

// A part in which nothing is checked, or these pods are prepared in its end.
PluginPhase<GpuWorld> Do(std::function<void(World&)> begin, seconds lasts,
                         std::optional<Names> prepared = {}) {
  return {.begin = std::move(begin), .lasts = lasts, .prepared = std::move(prepared)};
}

Phases OneGpu() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1"});
                world.MakePod({.pod = "p2", .node = "node-b", .devices = {kMigDevice}});
              },
              kSettles, Names{"p1", "p2"}),
          End({"p1", "p2"})};
}

// The second comes at once, and the third later.
Phases PodsOfOneClaim() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1", .claim = "shared"});
                world.MakePod({.pod = "p2", .claim = "shared"});
              },
              kSettles, Names{"p1", "p2"}),
          Do([](World& world) { world.EndPod("p1"); }, kSettles, Names{"p2"}),
          Do([](World& world) { world.MakePod({.pod = "p3", .claim = "shared"}); }, kSettles,
             Names{"p2", "p3"}),
          Do([](World& world) { world.EndPod("p2"); }, kSettles, Names{"p3"}), End({"p3"})};
}

Phases ClaimsOfOneGpu() {
  Phases phases = {
      Do([](World& world) { world.MakePod({.pod = "p1"}); }, kSettles, Names{"p1"}),
      Do([](World& world) { world.MakePod({.pod = "p2", .ns = "other"}); }, kSettles, Names{"p1"}),
      Do([](World& world) { world.EndPod("p1"); }, kSettles, Names{"p2"}),
      Do(
          [](World& world) {
            world.EndPod("p2");
            world.MakePod({.pod = "p3"});
          },
          kSettles, Names{"p3"}),
      End({"p3"})};
  phases[1].any_one = true;  // After a reboot either may be first.
  return phases;
}

Phases SeveralGpus() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1", .devices = {"gpu-0", "gpu-1", kMigDevice}});
                world.MakePod({.pod = "p2", .devices = {"gpu-2"}});
              },
              kSettles, Names{"p1", "p2"}),
          Do(
              [](World& world) {
                world.MakePod({.pod = "p3", .devices = {"gpu-2", "gpu-0"}, .keeps_claim = true});
              },
              kSettles, Names{"p1", "p2"}),
          Do([](World& world) { world.EndPod("p3"); }, seconds(50), Names{"p1", "p2"}),
          End({"p1", "p2"})};
}

// The kubelet unprepares the claim of the first pod, and has forgotten the second.
Phases ClaimsDeletedWhileAway() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1"});
                world.MakePod({.pod = "p2", .devices = {"gpu-1"}});
              },
              kSettles, Names{"p1", "p2"}),
          Do(
              [](World& world) {
                world.StopPlugin(minutes(2));
                world.DeleteClaimOf("p1");
                world.EndPod("p1");
                world.DropPod("p2");
              },
              kAllIsOver, Names()),
          Do([](World& world) { world.MakePod({.pod = "p3", .devices = {"gpu-0", "gpu-1"}}); },
             kSettles, Names{"p3"}),
          End({"p3"})};
}

// While it is lost, a claim that was prepared is answered again, and no other one is.
Phases GpuLostUnderAPod() {
  Phases phases = {
      Do([](World& world) { world.MakePod({.pod = "p1", .claim = "c", .devices = {"gpu-1"}}); },
         kSettles, Names{"p1"}),
      Do(
          [](World& world) {
            world.LoseGpu("gpu-1");
            world.MakePod({.pod = "p2", .claim = "c", .devices = {"gpu-1"}});
          },
          kSettles, Names{"p1", "p2"}),
      Do(
          [](World& world) {
            world.EndPod("p1");
            world.EndPod("p2");
          },
          kSettles, Names()),
      Do([](World& world) { world.MakePod({.pod = "p3", .devices = {"gpu-1"}}); }, kSettles,
         Names()),
      Do([](World& world) { world.FindGpu("gpu-1"); }, kSettles, Names{"p3"}),
      End({"p3"})};
  phases[1].except = {PluginFault::kReboot, PluginFault::kRebootKeepsSpecs,
                      PluginFault::kKubeletForgets};
  return phases;
}

Phases DriverReplacedUnderAPod() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1"});
                world.MakePod({.pod = "p2", .devices = {kMigDevice}});
              },
              kSettles, Names{"p1", "p2"}),
          Do([](World& world) { world.ReplaceDriver("590.44.01"); }, kSettles, Names{"p1", "p2"}),
          Do([](World& world) { world.MakePod({.pod = "p3", .devices = {"gpu-2"}}); }, kSettles,
             Names{"p1", "p2", "p3"}),
          Do([](World& world) { world.ReplaceDriver(""); }, kSettles, Names{"p1", "p2", "p3"}),
          End({"p1", "p2", "p3"})};
}

// At the second start a prepared claim is answered, and unprepared, without the driver.
Phases DriverUnreadable() {
  Phases phases = {Do(
                       [](World& world) {
                         world.SetDriverReadable(false);
                         world.MakePod({.pod = "p1", .claim = "c"});
                       },
                       kSettles, Names()),
                   Do([](World& world) { world.SetDriverReadable(true); }, kSettles, Names{"p1"}),
                   Do(
                       [](World& world) {
                         world.SetDriverReadable(false);
                         world.StopPlugin(seconds(10));
                         world.MakePod({.pod = "p2", .devices = {"gpu-1"}});
                         world.MakePod({.pod = "p3", .claim = "c"});
                       },
                       kSettles, Names{"p1", "p3"}),
                   Do(
                       [](World& world) {
                         world.EndPod("p1");
                         world.EndPod("p3");
                       },
                       kSettles, Names()),
                   Do([](World& world) { world.SetDriverReadable(true); }, kSettles, Names{"p2"}),
                   End({"p2"})};
  // A damaged checkpoint and a lost spec are made again once the driver is read: they have what
  // only the driver knows.
  for (const std::size_t unreadable : {2U, 3U}) {
    phases[unreadable].except = {PluginFault::kReboot, PluginFault::kRebootKeepsSpecs,
                                 PluginFault::kKubeletForgets, PluginFault::kTorn,
                                 PluginFault::kFilesLost};
  }
  return phases;
}

// One pod comes back. The claim of another stays, and has no pod; a third ends.
Phases RebootBetween() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1"});
                world.MakePod({.pod = "p2", .devices = {"gpu-1"}, .keeps_claim = true});
                world.MakePod({.pod = "p3", .devices = {"gpu-2"}});
              },
              kSettles, Names{"p1", "p2", "p3"}),
          Do(
              [](World& world) {
                world.Reboot();
                world.DropPod("p2");
                world.EndPod("p3");
              },
              kSettles, Names{"p1"}),
          Do([](World& world) { world.MakePod({.pod = "p4", .devices = {"gpu-1", "gpu-2"}}); },
             kSettles, Names{"p1", "p4"}),
          End({"p1", "p4"})};
}

Phases CheckpointUnreadable() {
  return {Do(
              [](World& world) {
                world.MakePod({.pod = "p1"});
                world.MakePod({.pod = "p2", .devices = {"gpu-1", kMigDevice}});
              },
              kSettles, Names{"p1", "p2"}),
          Do(
              [](World& world) {
                world.StopPlugin(seconds(10));
                world.TearCheckpoint();
                world.MakePod({.pod = "p3", .ns = "other", .devices = {"gpu-2"}});
              },
              kSettles, Names{"p1", "p2", "p3"}),
          Do(
              [](World& world) {
                world.TearCheckpoint();
                world.EndPod("p1");
              },
              kSettles, Names{"p2", "p3"}),
          Do([](World& world) { world.MakePod({.pod = "p4"}); }, kSettles, Names{"p2", "p3", "p4"}),
          End({"p2", "p3", "p4"})};
}

Phases WrongClaims() {
  const Names wrong = {"mps", "unknown", "elsewhere", "away"};
  Phases phases = {
      Do(
          [](World& world) {
            world.MakePod({.pod = "p1"});
            world.MakePod({.pod = "mps", .devices = {"gpu-1"}, .strategy = "MPS"});
            world.MakePod({.pod = "unknown", .devices = {"tpu-1"}});
            world.MakePod({.pod = "elsewhere", .devices = {"gpu-1"}, .pool = "node-b"});
            world.MakePod({.pod = "away", .devices = {"gpu-9"}});
          },
          seconds(30), Names{"p1"}),
      Do(
          [wrong](World& world) {
            for (const std::string& pod : wrong) world.EndPod(pod);
          },
          seconds(30), Names{"p1"}),
      End({"p1"})};
  return phases;
}

Phases AdministratorLooksOn() {
  return {
      Do([](World& world) { world.MakePod({.pod = "p1"}); }, kSettles, Names{"p1"}),
      Do([](World& world) { world.MakePod({.pod = "admin", .ns = "other", .admin_access = true}); },
         kSettles, Names{"p1", "admin"}),
      Do([](World& world) { world.EndPod("p1"); }, kSettles, Names{"admin"}),
      Do([](World& world) { world.MakePod({.pod = "p2"}); }, kSettles, Names{"admin", "p2"}),
      End({"p2", "admin"})};
}

// On node-b the plugin does not hear that the kubelet gave up.
Phases PodGivenUpWhileWaiting() {
  const auto on_both = [](const std::string& name, auto&& use) {
    for (const char* node : {"node-a", "node-b"}) use(name + "-on-" + node, node);
  };
  const auto make = [on_both](World& world, const std::string& name) {
    on_both(name, [&world](const std::string& pod, const std::string& node) {
      world.MakePod({.pod = pod, .node = node});
    });
  };
  const auto end = [on_both](World& world, const std::string& name) {
    on_both(name, [&world](const std::string& pod, const auto&) { world.EndPod(pod); });
  };
  return {Do([make](World& world) { make(world, "p1"); }, kSettles,
             Names{"p1-on-node-a", "p1-on-node-b"}),
          Do([make](World& world) { make(world, "p2"); }, seconds(10)),
          Do([end](World& world) { end(world, "p2"); }, seconds(2)),
          Do([end](World& world) { end(world, "p1"); }, kSettles, Names()),
          Do([](World& world) { world.MakePod({.pod = "p3"}); }, kSettles, Names{"p3"}),
          End({"p3"})};
}

}  // namespace

const std::vector<PluginScenario<GpuWorld>>& GpuScenarios() {
  static const std::vector<PluginScenario<GpuWorld>> scenarios = {
      {
          .name = "one-gpu",
          .what = "A pod with a GPU, and one with a MIG instance, are prepared and end",
          .phases = OneGpu(),
      },
      {
          .name = "pods-of-one-claim",
          .what = "Pods share a claim, come and end one after the other",
          .phases = PodsOfOneClaim(),
      },
      {
          .name = "claims-of-one-gpu",
          .what = "Claims for one GPU follow each other, and each waits for the one before",
          .phases = ClaimsOfOneGpu(),
      },
      {
          .name = "several-gpus",
          .what = "A claim has several GPUs, and another waits for some of them",
          .phases = SeveralGpus(),
      },
      {
          .name = "claims-deleted-while-away",
          .what = "Users delete claims by force while no plugin runs",
          .phases = ClaimsDeletedWhileAway(),
      },
      {
          .name = "gpu-lost-under-a-pod",
          .what = "A GPU is lost while a pod has it, and comes back",
          .phases = GpuLostUnderAPod(),
      },
      {
          .name = "driver-replaced-under-a-pod",
          .what = "The driver is replaced, and loaded again, while pods run",
          .phases = DriverReplacedUnderAPod(),
      },
      {
          .name = "driver-unreadable",
          .what = "The driver cannot be read at the first start, and at another",
          .phases = DriverUnreadable(),
      },
      {
          .name = "reboot-between",
          .what = "A node reboots, and one of its pods comes back",
          .phases = RebootBetween(),
      },
      {
          .name = "checkpoint-unreadable",
          .what = "The checkpoint is damaged while no plugin runs, and while one does",
          .phases = CheckpointUnreadable(),
      },
      {
          .name = "wrong-gpu-claims",
          .what = "Claims with MPS, an unknown device or another node stay unprepared",
          .phases = WrongClaims(),
      },
      {
          .name = "administrator-looks-on",
          .what = "A claim with admin access uses a GPU beside its holder",
          .phases = AdministratorLooksOn(),
      },
      {
          .name = "gpu-pod-given-up",
          .what = "A pod ends while it waits for a GPU that another pod holds",
          .phases = PodGivenUpWhileWaiting(),
      },
  };
  return scenarios;
}

}  // namespace simulation
