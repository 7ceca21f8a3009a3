// Text is for people: no pass decides by one that cdom wrote, or keeps from the pass before.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "controller/compute_domain/pass/reconcile_pass.h"
#include "pkg/json/repair.h"
#include "test/fixtures/pass_world.h"
#include "test/fixtures/renamed.h"

namespace compute_domain {
namespace {

using fixtures::kUid;
using fixtures::PassWorld;

// Renames every text of cdom's in the API server and in the memory of the process.
void RenameAll(PassWorld& world, const fixtures::NewText& renamed) {
  json::Value domain = world.Domain();
  if (!domain.IsNull()) {
    const auto object = json::ParseRepaired(json::Serialize(domain));
    api::DomainStatus status = api::DecodeComputeDomain(*object)->status;
    fixtures::Rename(status, renamed);
    domain["status"] = api::Encode(status);
    world.server.Put({Kind::kComputeDomain, std::move(domain)});
  }
  Remembered remembered = *world.shared.memories().Recall(kUid);
  fixtures::Rename(remembered.memory, renamed);
  world.shared.memories().Keep(kUid, std::move(remembered));
}

struct Row {
  const char* what;
  Observed observed;
  std::function<void(PassWorld&)> change = [](PassWorld&) {};
  std::function<void(PassWorld&)> later = {};  // After some passes.
};

// Returns the requests of some passes, and how each pass ended.
std::vector<std::string> RequestsOf(const Row& row, const fixtures::NewText& renamed) {
  PassWorld world(row.observed);
  row.change(world);
  std::vector<std::string> lines;
  for (int i = 0; i < 8; ++i) {
    if (i == 4 && row.later) row.later(world);
    const Outcome outcome = world.Run();
    lines.insert(lines.end(), world.server.lines().begin(), world.server.lines().end());
    const auto after = outcome.requeue_after ? (*outcome.requeue_after).count() : -1;
    lines.push_back((outcome.error ? "failed, again after " : "again after ") +
                    std::to_string(after) + " ms, failing " + std::to_string(outcome.is_failing));
    for (const kube::Event& event : outcome.events) lines.push_back("Event " + event.reason);
    RenameAll(world, renamed);
    world.server.ShowAll(world.cache);
    world.clock.Advance(std::chrono::seconds(1));
  }
  return lines;
}

Observed With(Observed observed, const std::function<void(Observed&)>& change) {
  change(observed);
  return observed;
}

// A job with daemons that report their IMEX. `state` and `started` are those of node-0.
Observed WithImex(const std::string& state, const std::string& started) {
  Observed observed = fixtures::Marked();
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.imex = api::ImexReport{.state = "READY", .started = "2026-01-01T11:10:00Z"};
  }
  observed.children.daemon_pods[0].imex = api::ImexReport{.state = state, .started = started};
  for (auto& [name, node] : observed.nodes) node.boot_id = "boot-1";
  return observed;
}

void PutPod(PassWorld& world, const Observed& observed) {
  world.server.Put(fixtures::Store(observed.children.daemon_pods[0]));
  world.server.ShowAll(world.cache);
}

// The daemons are of an older template, and may be replaced under a job.
Observed InRollout() {
  Observed observed = fixtures::Marked();
  observed.facts.settings.Edit().rollout = {.policy = RolloutPolicy::kAlways,
                                            .deadline = std::chrono::seconds(2)};
  api::DaemonSet& set = observed.children.daemon_sets[0];
  set.template_hash = HashChildren(observed).daemon_set;
  set.template_generation = set.meta.generation = 2;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "old";
  return observed;
}

TEST(ReconcilePass, TextsThatAreRenamed_ChangeNoRequest) {
  const auto refuse = [](const char* part) {
    return [part](PassWorld& world) {
      world.server.Refuse(part, 403, "Forbidden", "it cannot be done");
    };
  };
  const auto nothing = [](PassWorld&) {};
  const Observed ready = WithImex("READY", "2026-01-01T11:10:00Z");
  const auto rebooted = [](Observed& o) {
    o.children.cliques[0].daemons[0].ready = o.children.daemon_pods[0].ready = false;
    o.children.cliques[0].rebooted = {"node-0"};
    o.domain->status.nodes[0].ready = false;
  };
  const Row rows[] = {
      {"as it is", fixtures::Marked()},
      {"new", fixtures::Fresh()},
      {"a child cannot be created", fixtures::Fresh(), refuse("POST /apis/apps")},
      {"its finalizer cannot be stored", fixtures::Fresh(), refuse("PATCH /apis/resource.nvidia")},
      {"a node is lost",
       With(fixtures::Marked(), [](Observed& o) { o.nodes["node-0"].ready = false; })},
      {"a daemon fails",
       With(fixtures::Marked(), [](Observed& o) { o.children.daemon_pods[0].ready = false; })},
      {"deleted while in use", fixtures::JustDeleted()},
      {"deleted", fixtures::DeletingUnused()},
      {"deleted, and a child stays", fixtures::DeletingUnused(), refuse("DELETE ")},
      {"left behind", fixtures::Orphans()},
      {"IMEX restarts under a job", ready, nothing,
       [](PassWorld& world) { PutPod(world, WithImex("READY", "2026-01-01T12:00:04Z")); }},
      {"IMEX restarted, and waits", WithImex("WAITING_FOR_RECOVERY", "2026-01-01T11:59:00Z"),
       nothing, [&](PassWorld& world) { PutPod(world, ready); }},
      {"a node reboots", ready, nothing,
       [&](PassWorld& world) {
         api::Node node = ready.nodes.at("node-0");
         node.boot_id = "boot-2";
         world.server.Put(fixtures::Store(node));
         world.server.ShowAll(world.cache);
       }},
      {"a node that rebooted comes back", With(ready, rebooted), nothing,
       [&](PassWorld& world) { PutPod(world, ready); }},
      {"daemons are replaced", InRollout()},
      {"a replaced daemon is not ready in time", InRollout(), nothing,
       [](PassWorld& world) {
         Observed failed = InRollout();
         api::DaemonPod& pod = failed.children.daemon_pods[0];
         pod.meta.uid = "another";
         pod.template_hash = failed.children.daemon_sets[0].template_hash;
         pod.ready = false;
         pod.trouble = "CrashLoopBackOff: no device";
         PutPod(world, failed);
       }},
      {"daemons cannot be replaced", InRollout(), refuse("DELETE ")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    // A decision that looks for words finds them in one run alone.
    const auto requests = RequestsOf(row, fixtures::Extended());
    EXPECT_EQ(RequestsOf(row, fixtures::Scrambled(1)), requests);
    EXPECT_EQ(RequestsOf(row, fixtures::Scrambled(2)), requests);
    Row without = row;
    without.later = {};
    EXPECT_TRUE(!row.later || requests != RequestsOf(without, fixtures::Extended()))
        << "nothing happens";
  }
}

}  // namespace
}  // namespace compute_domain
