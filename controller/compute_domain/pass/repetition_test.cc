// A write that another client undoes is repeated ever more rarely, and told.
#include <gtest/gtest.h>

#include "controller/compute_domain/rules/children.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kCliqueId;
using fixtures::kDriverNs;
using fixtures::kUid;
using fixtures::Marked;
using fixtures::PassWorld;
using std::chrono::milliseconds;
using std::chrono::minutes;

const kube::ObjectKey kCliqueKey = {kDriverNs, kUid + "." + kCliqueId};
const kube::ObjectKey kSetKey = {kDriverNs, fixtures::kDaemonName};
constexpr int kMostInAMinute = 20;

// Returns the object as `manager` last wrote it, a moment ago.
void WriteAs(const char* manager, const char* subresource, json::Value& object) {
  object["metadata"]["managedFields"] = json::Value::Array({json::Value::Object(
      {{"manager", manager}, {"time", "2026-01-01T12:00:00Z"}, {"subresource", subresource}})});
}

// For a minute another client runs `undo` before each pass, 100 ms after the one before. Returns
// how many writes begin with `verb` and contain `part`.
int CountInAMinute(PassWorld& world, const std::string& part,
                   const std::function<void(PassWorld&)>& undo) {
  int writes = 0;
  for (const auto end = world.clock.Now() + minutes(1); world.clock.Now() < end;) {
    undo(world);
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    for (const std::string& line : world.Writes()) writes += line.ends_with(part) ? 1 : 0;
    if (!outcome.error) world.clock.Advance(milliseconds(100));
  }
  return writes;
}

Observed WithEditedSet() {
  Observed observed = Converged();
  api::DaemonSet& set = observed.children.daemon_sets[0];
  set.template_hash = HashChildren(observed).daemon_set;
  set.template_generation = 1;
  set.meta.generation = 2;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = set.template_hash;
  return observed;
}

void EditSet(PassWorld& world) {
  json::Value set = world.server.Get(Kind::kDaemonSet, kSetKey);
  const std::string stamp = set["metadata"]["annotations"][api::kTemplateHashAnnotation].AsString();
  const std::string generation = std::to_string(set["metadata"]["generation"].AsInt().value_or(0));
  if (!stamp.ends_with(":" + generation)) return;  // It was not repaired yet.
  set["metadata"]["generation"] = set["metadata"]["generation"].AsInt().value_or(0) + 1;
  WriteAs("kyverno", "", set);
  world.server.Put({Kind::kDaemonSet, set});
}

TEST(Repetition, REV4_K2_RepairThatIsUndoneIsPacedAndTold) {
  PassWorld world(WithEditedSet());
  const int repairs = CountInAMinute(world, "/daemonsets/" + kSetKey.name, EditSet);
  EXPECT_GT(repairs, 8);
  EXPECT_LE(repairs, kMostInAMinute);
  const json::Value told = world.Condition(api::kConditionConflicted);
  EXPECT_EQ(told["reason"].AsString(), "WritesUndone");
  EXPECT_EQ(told["message"].AsString(),
            "Another client (kyverno) undoes the controller's writes of spec.template of DaemonSet "
            "cdom-system/" +
                kSetKey.name + ". For administrators: stop that client from writing this object.");
  EXPECT_EQ(world.logger.Count("Another client undoes the writes of the controller"), 1);
}

TEST(Repetition, REV4_K2_ConditionEndsTwoMinutesAfterTheLastRepair) {
  PassWorld world(WithEditedSet());
  (void)CountInAMinute(world, "/daemonsets/" + kSetKey.name, EditSet);
  ASSERT_FALSE(world.Condition(api::kConditionConflicted).IsNull());
  world.Drive(std::chrono::hours(1));
  EXPECT_TRUE(world.Condition(api::kConditionConflicted).IsNull()) << world.Conditions();
  EXPECT_EQ(CountInAMinute(world, "/daemonsets/" + kSetKey.name, [](PassWorld&) {}), 0);
}

TEST(Repetition, REV4_K2_FinalizerThatIsTakenOffIsPacedAndTold) {
  PassWorld world(Converged());
  const int writes = CountInAMinute(world, "/computedomains/train", [](PassWorld& at) {
    json::Value domain = at.Domain();
    if (domain["metadata"]["finalizers"].items().empty()) return;
    domain["metadata"].Erase("finalizers");
    WriteAs("terraform", "", domain);
    at.server.Put({Kind::kComputeDomain, domain});
  });
  EXPECT_LE(writes, kMostInAMinute);
  EXPECT_NE(world.Conditions().find("(terraform) undoes the controller's writes of "
                                    "metadata.finalizers of ComputeDomain"),
            std::string::npos)
      << world.Conditions();
}

TEST(Repetition, REV4_K2_LabelThatIsTakenOffACliqueIsPaced) {
  PassWorld world(Marked());
  const int writes =
      CountInAMinute(world, "/computedomaincliques/" + kCliqueKey.name, [](PassWorld& at) {
        json::Value clique = at.server.Get(Kind::kClique, kCliqueKey);
        if (clique["metadata"]["labels"].IsNull()) return;
        clique["metadata"].Erase("labels");
        at.server.Put({Kind::kClique, clique});
      });
  EXPECT_LE(writes, kMostInAMinute);
}

TEST(Repetition, REV4_K2_ChildThatIsDeletedAgainAndAgainIsPacedAndTold) {
  PassWorld world(Converged());
  const int writes = CountInAMinute(
      world, "/daemonsets", [](PassWorld& at) { at.server.Remove(Kind::kDaemonSet, kSetKey); });
  EXPECT_LE(writes, kMostInAMinute);
  EXPECT_NE(world.Conditions().find("deletes DaemonSet cdom-system/"), std::string::npos)
      << world.Conditions();
}

// Two controllers that both believe to lead, and remember different things.
TEST(Repetition, REV4_K18_StatusThatAnotherLeaderRewritesIsPaced) {
  PassWorld world(Converged());
  const int writes = CountInAMinute(world, "/status", [](PassWorld& at) {
    json::Value domain = at.Domain();
    if (domain["status"]["members"].AsString() == "0/9") return;
    domain["status"]["members"] = "0/9";
    at.server.Put({Kind::kComputeDomain, domain});
  });
  EXPECT_GT(writes, 5);
  EXPECT_LE(writes, kMostInAMinute);
}

// What is new waits for its own window only, however often the same object was written.
TEST(Repetition, REV4_K2_NewContentDoesNotWait) {
  const Observed observed = Marked();
  PassWorld world(observed);
  world.Drive(std::chrono::hours(1));
  for (int i = 0; i < 12; ++i) {
    api::DaemonPod pod = observed.children.daemon_pods[1];
    pod.ready = i % 2 == 1;
    world.server.Put(fixtures::Store(pod));
    world.server.ShowAll(world.cache);
    world.clock.Advance(std::chrono::seconds(5));
    (void)world.Run();
    const json::Value clique = world.server.Get(Kind::kClique, kCliqueKey);
    EXPECT_EQ(clique["daemons"].items()[1]["status"].AsString(), pod.ready ? "Ready" : "NotReady");
  }
}

}  // namespace
}  // namespace compute_domain
