#include <algorithm>
#include <string>

#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

using std::chrono::seconds;

class ServingOraclesTest : public OraclesTest {
 protected:
  // The client takes the Lease, or renews it.
  void KeepLease(const std::string& client, const std::string& holder) {
    const kube::ObjectKey key = {.ns = kSystem, .name = std::string(kLeaseName)};
    const ObjectPtr found = store().Get(Kind::kLease, key);
    Value lease =
        found ? found->value() : Value::Object({{"apiVersion", "coordination.k8s.io/v1"}});
    lease["kind"] = "Lease";
    lease["metadata"]["name"] = key.name;
    lease["metadata"]["namespace"] = key.ns;
    lease["spec"]["holderIdentity"] = holder;
    (void)cluster.server().Handle(client, found
                                              ? kube::UpdateRequest(kube::kLeases, key, lease)
                                              : kube::CreateRequest(kube::kLeases, key.ns, lease));
  }
  void Lead(seconds time, const std::string& holder = "controller") {
    for (seconds led(0); led < time; led += seconds(5)) {
      cluster.Advance(seconds(5));
      KeepLease("controller", holder);
    }
  }
  // A domain that the controller does not see.
  void AddDomain() { cluster.CreateDomain({.ns = "other", .name = "new"}, "new-channel"); }
  // The controller tries to store its finalizer.
  void Admit(const kube::ObjectKey& key) {
    Value patch;
    patch["metadata"]["finalizers"] = Value::Array({std::string(kFinalizer)});
    (void)cluster.server().Handle(
        "controller", kube::MergePatchRequest(Describe(Kind::kComputeDomain).resource, key, patch));
  }
};

TEST_F(ServingOraclesTest, S24SeesADomainThatIsNotAdmitted) {
  AddDomain();
  Lead(seconds(75));
  EXPECT_EQ(Check(LeaderServes), "");
  Lead(seconds(10));
  const std::string found = Check(LeaderServes);
  EXPECT_TRUE(Contains(found, "controller leads, and has not written the finalizer of other/new"));
  EXPECT_EQ(std::ranges::count(found, '\n'), 1) << "once: " << found;
}

TEST_F(ServingOraclesTest, S24SeesADomainWithoutItsDaemonSet) {
  AddDomain();
  Admit({.ns = "other", .name = "new"});
  Lead(seconds(90));
  EXPECT_TRUE(Contains(Check(LeaderServes), "has not written the DaemonSet of"));
}

TEST_F(ServingOraclesTest, S24SeesADomainWithoutOneOfItsTemplates) {
  for (const kube::ObjectKey& key : {kWorkloadTemplate, DaemonKey()}) {
    store().Delete("user", Kind::kClaimTemplate, key);
    store().Edit("user", Kind::kClaimTemplate, key,
                 [](Value& found) { found["metadata"].Erase("finalizers"); });
    ASSERT_EQ(store().Get(Kind::kClaimTemplate, key), nullptr);
    Lead(seconds(110));  // It was created at first.
    EXPECT_TRUE(
        Contains(Check(LeaderServes), "has not written the template " + kube::ToString(key)));
  }
}

TEST_F(ServingOraclesTest, S24LetsWhoeverHasTheNameOfATemplateKeepIt) {
  store().Edit("user", Kind::kClaimTemplate, kWorkloadTemplate,
               [](Value& found) { found["metadata"].Erase("labels"); });
  Lead(seconds(90));
  EXPECT_EQ(Check(LeaderServes), "");
}

TEST_F(ServingOraclesTest, S24LetsADomainWaitForChildrenThatCannotBeRead) {
  AddDomain();
  Admit({.ns = "other", .name = "new"});
  for (const char* kind : {"daemonsets", "resourceclaimtemplates"}) {
    system.unreadable = {kind};
    system.unreadable_until = cluster.now() + seconds(90);
    Lead(seconds(90));
    EXPECT_EQ(Check(LeaderServes), "") << kind;
  }
  Lead(seconds(90));
  EXPECT_TRUE(Contains(Check(LeaderServes), "has not written the DaemonSet of"));
}

TEST_F(ServingOraclesTest, S24AsksNothingOfOneThatDoesNotLead) {
  AddDomain();
  Lead(seconds(60));
  Lead(seconds(90), "other");
  EXPECT_EQ(Check(LeaderServes), "");
}

TEST_F(ServingOraclesTest, S24CountsAgainFromATry) {
  AddDomain();
  Lead(seconds(60));
  cluster.server().Refuse([](const std::string&, const Target& target) {
    return target.kind != nullptr && target.kind->kind == Kind::kComputeDomain;
  });
  Admit({.ns = "other", .name = "new"});
  (void)cluster.server().Handle("controller",
                                kube::CreateRequest(kube::kDaemonSets, kSystem, Value()));
  Lead(seconds(105));
  EXPECT_EQ(Check(LeaderServes), "");
  Lead(seconds(10));
  EXPECT_TRUE(Contains(Check(LeaderServes), "has not written the finalizer of other/new"));
}

TEST_F(ServingOraclesTest, S24ExcusesAFault_ButNotAKindThatCannotBeRead) {
  AddDomain();
  system.excuses = {{.from = cluster.now(), .until = cluster.now() + seconds(60)}};
  Lead(seconds(120));
  EXPECT_EQ(Check(LeaderServes), "");
  system.excuses.front().is_of_reads = true;
  EXPECT_TRUE(Contains(Check(LeaderServes), "has not written the finalizer of other/new"));
}

TEST_F(ServingOraclesTest, S24SeesADeletedDomainOfWhichNothingIsLeft) {
  AddDomain();
  Admit({.ns = "other", .name = "new"});
  cluster.DeleteDomain({.ns = "other", .name = "new"});
  Lead(seconds(110));  // Its finalizer was written at first.
  EXPECT_TRUE(Contains(Check(LeaderServes), "has not written the finalizer of other/new"));
}

TEST_F(ServingOraclesTest, S24AsksNothingForADomainThatIsBeingDeleted) {
  AddDomain();
  store().Edit("user", Kind::kComputeDomain, {.ns = "other", .name = "new"}, [](Value& domain) {
    domain["metadata"]["finalizers"] = Value::Array({"example.com/backup"});
  });
  cluster.DeleteDomain({.ns = "other", .name = "new"});
  Lead(seconds(90));
  EXPECT_EQ(Check(LeaderServes), "");
}

}  // namespace
}  // namespace simulation
