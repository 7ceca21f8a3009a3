#include "test/simulation/oracles/oracle_runner.h"

#include <string>

#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

// Records everything that it is shown.
Oracle Recorder(const OracleContext& context) {
  return {.on_change =
              [context](const GroundTruth& before, const Change& change) {
                const bool was_there = before.Get(change.kind, change.after->key()) != nullptr;
                context.violations.push_back(std::to_string(change.revision()) + " " +
                                             Show(change.kind, change.after->key()) +
                                             (was_there ? " was there" : " is new"));
              },
          .on_request =
              [context](const GroundTruth& truth, const RequestRecord& request) {
                const bool is_there =
                    request.target.kind != nullptr &&
                    truth.Get(request.target.kind->kind, request.target.key) != nullptr;
                context.violations.push_back(request.ToString() + (is_there ? " is there" : ""));
              },
          .at_end = [context](const GroundTruth& /*truth*/,
                              Time /*now*/) { context.violations.emplace_back("the end"); }};
}

TEST_F(OraclesTest, CatchingUpOften_ShowsTheSameAsOnce) {
  OracleRunner early(cluster.server(), system, {Recorder});
  early.CatchUp();
  early.CatchUp();
  AskForDeletion();
  early.CatchUp();
  Settle();
  const Violations seen = early.Finish();
  EXPECT_EQ(seen, OracleRunner(cluster.server(), system, {Recorder}).Finish());
  EXPECT_EQ(seen.size(),
            store().history().changes().size() + cluster.server().requests().size() + 1);
  EXPECT_EQ(seen.back(), "the end");
}

TEST_F(OraclesTest, ChangesAreShownBeforeTheyApply_RequestsAfter) {
  const kube::ObjectKey key = {.ns = "other", .name = "theirs"};
  (void)cluster.server().Handle(
      "controller",
      kube::CreateRequest(kube::kResourceClaimTemplates, key.ns, ForeignTemplateObject(key.name)));
  const std::string revision = std::to_string(store().revision());
  (void)cluster.server().Handle("controller", kube::GetRequest(kube::kResourceClaimTemplates, key));
  const Violations seen = OracleRunner(cluster.server(), system, {Recorder}).Finish();
  const std::vector<std::string> last(seen.end() - 4, seen.end());
  EXPECT_EQ(last,
            (std::vector<std::string>{
                revision + " ResourceClaimTemplate other/theirs is new",
                "create resourceclaimtemplates.resource.k8s.io other/",
                "get resourceclaimtemplates.resource.k8s.io other/theirs is there", "the end"}));
}

}  // namespace
}  // namespace simulation
