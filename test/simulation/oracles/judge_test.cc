#include "test/simulation/oracles/judge.h"

#include <string>

#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

// Writes down all that it is shown.
Onlooker Scribe(const Scene& scene) {
  return {.on_change =
              [scene](const Truth& before, const Change& change) {
                const bool was_there = before.Get(change.kind, change.after->key()) != nullptr;
                scene.violations.push_back(std::to_string(change.revision()) + " " +
                                           Show(change.kind, change.after->key()) +
                                           (was_there ? " was there" : " is new"));
              },
          .on_request =
              [scene](const Truth& truth, const RequestRecord& request) {
                const bool is_there =
                    request.target.kind != nullptr &&
                    truth.Get(request.target.kind->kind, request.target.key) != nullptr;
                scene.violations.push_back(request.ToString() + (is_there ? " is there" : ""));
              },
          .at_end = [scene](const Truth& /*truth*/,
                            Time /*now*/) { scene.violations.emplace_back("the end"); }};
}

TEST_F(OraclesTest, WhoLooksTwiceSeesWhatWhoLooksOnceDoes) {
  Judge early(cluster.server(), suspects, {Scribe});
  early.Look();
  early.Look();
  AskForDeletion();
  early.Look();
  Settle();
  const Violations seen = early.Conclude();
  EXPECT_EQ(seen, Judge(cluster.server(), suspects, {Scribe}).Conclude());
  EXPECT_EQ(seen.size(),
            store().history().changes().size() + cluster.server().requests().size() + 1);
  EXPECT_EQ(seen.back(), "the end");
}

TEST_F(OraclesTest, AChangeIsShownBeforeItIsMadeAndARequestAfterWhatItDid) {
  const kube::ObjectKey key = {.ns = "other", .name = "theirs"};
  (void)cluster.server().Handle(
      "controller",
      kube::CreateRequest(kube::kResourceClaimTemplates, key.ns, ForeignTemplateObject(key.name)));
  const std::string revision = std::to_string(store().revision());
  (void)cluster.server().Handle("controller", kube::GetRequest(kube::kResourceClaimTemplates, key));
  const Violations seen = Judge(cluster.server(), suspects, {Scribe}).Conclude();
  const std::vector<std::string> last(seen.end() - 4, seen.end());
  EXPECT_EQ(last,
            (std::vector<std::string>{
                revision + " ResourceClaimTemplate other/theirs is new",
                "create resourceclaimtemplates.resource.k8s.io other/",
                "get resourceclaimtemplates.resource.k8s.io other/theirs is there", "the end"}));
}

}  // namespace
}  // namespace simulation
