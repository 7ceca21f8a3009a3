// Text is for people: no pass decides by one that cdom wrote, or keeps from the pass before.

#include <gtest/gtest.h>

#include <functional>
#include <random>
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
void RenameAll(PassWorld& world, std::mt19937& random) {
  json::Value domain = world.Domain();
  if (!domain.IsNull()) {
    const auto object = json::ParseRepaired(json::Serialize(domain));
    api::DomainStatus status = api::DecodeComputeDomain(*object)->status;
    fixtures::Rename(status, random);
    domain["status"] = api::Encode(status);
    world.server.Put({Kind::kComputeDomain, std::move(domain)});
  }
  Remembered remembered = *world.shared.memories().Recall(kUid);
  fixtures::Rename(remembered.memory, random);
  world.shared.memories().Keep(kUid, std::move(remembered));
}

struct Row {
  const char* what;
  Observed observed;
  std::function<void(PassWorld&)> change = [](PassWorld&) {};
};

// Returns the requests of some passes, and how each pass ended.
std::vector<std::string> RequestsOf(const Row& row, unsigned seed) {
  std::mt19937 random(seed);
  PassWorld world(row.observed);
  row.change(world);
  std::vector<std::string> lines;
  for (int i = 0; i < 8; ++i) {
    const Outcome outcome = world.Run();
    lines.insert(lines.end(), world.server.lines().begin(), world.server.lines().end());
    const auto after = outcome.requeue_after ? (*outcome.requeue_after).count() : -1;
    lines.push_back((outcome.error ? "failed, again after " : "again after ") +
                    std::to_string(after) + " ms, failing " + std::to_string(outcome.is_failing));
    for (const kube::Event& event : outcome.events) lines.push_back("Event " + event.reason);
    RenameAll(world, random);
    world.server.ShowAll(world.cache);
    world.clock.Advance(std::chrono::seconds(1));
  }
  return lines;
}

Observed With(Observed observed, const std::function<void(Observed&)>& change) {
  change(observed);
  return observed;
}

TEST(ReconcilePass, TextsThatAreRenamed_ChangeNoRequest) {
  const auto refuse = [](const char* part) {
    return [part](PassWorld& world) {
      world.server.Refuse(part, 403, "Forbidden", "it cannot be done");
    };
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
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(RequestsOf(row, 1), RequestsOf(row, 2));
  }
}

}  // namespace
}  // namespace compute_domain
