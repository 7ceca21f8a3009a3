// Absence is asked of names and labels. Ownership is asked before something is changed or deleted.
#include <gtest/gtest.h>

#include "controller/compute_domain/rules/children.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kCliqueId;
using fixtures::kDriverNs;
using fixtures::kOtherUid;
using fixtures::kUid;
using fixtures::Marked;
using fixtures::PassWorld;
using std::chrono::hours;
using std::chrono::seconds;

const kube::ObjectKey kCliqueKey = {kDriverNs, kUid + "." + kCliqueId};
const kube::ObjectKey kSetKey = {kDriverNs, fixtures::kDaemonName};

// `kubectl delete daemonset --cascade=orphan`: the garbage collector takes the owner off each pod,
// and then the DaemonSet goes. The next one adopts the pods, which run on.
TEST(Orphans, REV4_K3_DaemonsWithoutAnOwnerStayMembers) {
  for (Observed observed : {Marked(), Converged()}) {
    for (api::DaemonPod& pod : observed.children.daemon_pods) {
      pod.meta.key.name = fixtures::kDaemonName + ("-" + pod.node);
    }
    PassWorld world(observed);
    json::Value set = world.server.Get(Kind::kDaemonSet, kSetKey);
    set["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
    set["metadata"]["finalizers"] = json::Value::Array({"orphan"});
    world.server.Put({Kind::kDaemonSet, set});
    for (const api::DaemonPod& one : observed.children.daemon_pods) {
      json::Value pod = world.server.Get(Kind::kDaemonPod, one.meta.key);
      pod["metadata"].Erase("ownerReferences");
      world.server.Put({Kind::kDaemonPod, pod});
    }
    world.Drive(hours(1));
    const json::Value clique = world.server.Get(Kind::kClique, kCliqueKey);
    EXPECT_EQ(clique["daemons"].items().size(), 2U) << json::Serialize(clique);
    EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 2U);
  }
}

// Nothing else would end daemons that no DaemonSet owns.
TEST(Orphans, REV4_K3_DaemonsWithoutAnOwnerEndWithTheirDomain) {
  Observed observed = fixtures::JustDeleted();
  observed.children = {.daemon_pods = observed.children.daemon_pods};
  for (auto& [name, node] : observed.nodes) node.domain.clear();
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.meta.key.name = fixtures::kDaemonName + ("-" + pod.node);
    pod.meta.owners.clear();
  }
  PassWorld world(observed);
  world.Drive(hours(24));
  EXPECT_TRUE(world.Domain().IsNull());
  EXPECT_EQ(world.server.Count(Kind::kDaemonPod), 0U);
}

// A node joins meanwhile.
TEST(Orphans, REV4_K5_CliqueWithTheLabelOfAnotherDomainIsRepaired) {
  PassWorld world(Marked());
  json::Value clique = world.server.Get(Kind::kClique, kCliqueKey);
  clique["metadata"]["labels"][std::string(api::kDomainLabel)] = kOtherUid;
  world.server.Put({Kind::kClique, clique});
  api::DaemonPod pod = fixtures::MakePod("node-2", 2);
  pod.controller_writes = true;
  pod.ready = false;
  world.server.Put(fixtures::Store(fixtures::MakeNode("node-2")));
  world.server.Put(fixtures::Store(pod));
  world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-2", "train-2")));
  world.Drive(hours(1));
  clique = world.server.Get(Kind::kClique, kCliqueKey);
  EXPECT_EQ(clique["daemons"].items().size(), 3U) << world.Conditions();
  EXPECT_EQ(clique["metadata"]["labels"][std::string(api::kDomainLabel)].AsString(), kUid);
}

// A label that names another domain hides the clique from a list by label.
TEST(Orphans, REV4_K5_CliqueWithTheLabelOfAnotherDomainIsDeletedWithItsOwn) {
  PassWorld world(fixtures::JustDeleted());
  json::Value clique = world.server.Get(Kind::kClique, kCliqueKey);
  clique["metadata"]["labels"][std::string(api::kDomainLabel)] = kOtherUid;
  world.server.Put({Kind::kClique, clique});
  world.Drive(hours(24));
  EXPECT_TRUE(world.Domain().IsNull());
  EXPECT_EQ(world.server.Count(Kind::kClique), 0U);
}

// As `kubectl replace` with an older manifest does.
TEST(Orphans, REV4_K12_DaemonSetThatLostItsAnnotationSaysSo) {
  Observed observed = Converged();
  api::DaemonSet& set = observed.children.daemon_sets[0];
  set.template_hash = HashChildren(observed).daemon_set;
  set.template_generation = set.meta.generation = 1;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = set.template_hash;
  PassWorld world(observed);
  (void)world.Run();
  json::Value object = world.server.Get(Kind::kDaemonSet, kSetKey);
  object["metadata"].Erase("annotations");
  object["metadata"]["generation"] = 7;
  world.server.Put({Kind::kDaemonSet, object});
  world.Drive(hours(1));
  EXPECT_NE(world.Conditions().find("DaemonSet cdom-system/" + kSetKey.name +
                                    " has lost its annotation cdom.dev/template-hash"),
            std::string::npos)
      << world.Conditions();
}

}  // namespace
}  // namespace compute_domain
