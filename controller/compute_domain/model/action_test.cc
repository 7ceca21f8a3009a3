#include "controller/compute_domain/model/action.h"

#include <gtest/gtest.h>

#include <set>

namespace compute_domain {
namespace {

TEST(ResourceOf, KindsThatNoActionWrites_HaveTheirs) {
  EXPECT_EQ(ResourceOf(Kind::kNode).kind, std::string("Node"));
  EXPECT_EQ(ResourceOf(Kind::kResourceSlice).kind, std::string("ResourceSlice"));
}

TEST(Action, EachIsDescribedAndBelongsToItsConcern) {
  struct Row {
    Action action;
    const char* says;
    Concern concern;
    bool is_write;
  };
  const kube::ObjectKey key = {.ns = "n", .name = "a"};
  const kube::ObjectMeta meta = {.key = key};
  const json::Value owners = json::Value::Array();
  const std::vector<Row> rows = {
      {Create{.kind = Kind::kDaemonSet, .key = key}, "create DaemonSet n/a", Concern::kChildren,
       true},
      {Create{.kind = Kind::kClique, .key = key}, "create ComputeDomainClique n/a",
       Concern::kMembership, true},
      {Delete{.kind = Kind::kClaimTemplate, .key = key}, "delete ResourceClaimTemplate n/a",
       Concern::kChildren, true},
      {ReplaceDaemon{.key = key}, "replace Pod n/a", Concern::kRollout, true},
      {WriteFinalizers{.kind = Kind::kComputeDomain, .object = meta},
       "patch finalizers of ComputeDomain n/a", Concern::kFinalizer, true},
      {WriteClique{.clique = {.meta = meta}}, "patch ComputeDomainClique n/a", Concern::kMembership,
       true},
      {WritePodTemplate{.daemon_set = meta}, "replace the pod template of DaemonSet n/a",
       Concern::kChildren, true},
      {WriteIdentity{.kind = Kind::kClique, .object = meta},
       "patch labels of ComputeDomainClique n/a", Concern::kMembership, true},
      {WriteIdentity{.kind = Kind::kDaemonSet, .object = meta, .owners = owners},
       "patch labels and owner of DaemonSet n/a", Concern::kChildren, true},
      {RemoveNodeLabel{.node = "a"}, "remove the domain label of Node a", Concern::kLabels, true},
      {RestoreNodeLabel{.node = "a"}, "put the domain label back on Node a", Concern::kLabels,
       true},
      {WriteStatus{.object = meta}, "patch status of ComputeDomain n/a", Concern::kStatus, true},
      {ReadOwner{.key = key}, "get ComputeDomain n/a", Concern::kReads, false},
      {ReadOwner{}, "list ComputeDomains", Concern::kReads, false},
      {ReadChildren{}, "list what the domain left", Concern::kReads, false},
      {ReadDaemons{}, "list daemon pods and cliques", Concern::kReads, false},
      {ReadClaims{.ns = "n"}, "list ResourceClaims of n", Concern::kReads, false},
      {ReadNodes{}, "list Nodes by name", Concern::kReads, false},
      {ReadPodConditions{.ns = "n"}, "get waiting Pods of n", Concern::kReads, false},
      {ReadDaemonSetEvents{.daemon_set = {"n", "d"}}, "list Events of DaemonSet n/d",
       Concern::kReads, false},
      {ReadTaken{.kind = Kind::kDaemonSet, .key = key}, "get DaemonSet n/a", Concern::kChildren,
       false},
  };
  std::set<ActionId> ids;
  for (const Row& row : rows) {
    EXPECT_EQ(Describe(row.action), row.says);
    EXPECT_TRUE(ids.insert(IdOf(row.action)).second) << row.says;
    EXPECT_EQ(ConcernOf(row.action), row.concern) << row.says;
    EXPECT_EQ(IsWrite(row.action), row.is_write) << row.says;
  }
}

}  // namespace
}  // namespace compute_domain
