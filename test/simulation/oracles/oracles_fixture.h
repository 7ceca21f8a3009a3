// A cluster with a used domain and a correct controller, for oracle tests.
//
// Each test makes that controller do one forbidden thing.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "pkg/kube/client/request.h"
#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/cluster/tiny_controller.h"
#include "test/simulation/oracles/oracle_runner.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

using json::Value;

inline const std::string kSystem(kDriverNamespace);
inline const kube::ObjectKey kDomain = {.ns = "train", .name = "cd-1"};
inline const kube::ObjectKey kWorkloadTemplate = {.ns = "train", .name = "channel"};

class OraclesTest : public testing::Test {
 protected:
  explicit OraclesTest(bool controller_writes = true)
      : controller(cluster.server(), "controller", controller_writes) {
    cluster.AddNamespace("train");
    cluster.AddNamespace("other");
    cluster.AddNode("node-0", "c.1");
    cluster.AddNode("node-1", "c.1");
    cluster.AddNode("node-2", "");
    uid = cluster.CreateDomain(kDomain, "channel");
    workload =
        &cluster.AddWorkload({.ns = "train", .name = "job"}, "channel", {"node-0", "node-2"});
    Settle();
  }

  void Settle() {
    for (bool moved = true; moved;) {
      moved = cluster.Settle() > 0;
      moved = controller.Pass() || moved;
    }
  }
  ObjectStore& store() { return cluster.store(); }
  // The controller does a forbidden thing.
  Reply Misdelete(Kind kind, const kube::ObjectKey& key) {
    return store().Delete("controller", kind, key);
  }
  template <typename Change>
  void Misedit(Kind kind, const kube::ObjectKey& key, Change change) {
    ASSERT_TRUE(store().Edit("controller", kind, key, change).ok());
  }
  void Mislabel(const std::string& node, const std::string& value) {
    Misedit(Kind::kNode, {.name = node}, [&](Value& object) {
      Value& labels = object["metadata"]["labels"];
      labels.Erase(kDomainLabel);
      if (!value.empty()) labels[kDomainLabel] = value;
    });
  }
  ObjectPtr DaemonOn(const std::string& node) {
    for (const auto& [key, pod] : store().Live(Kind::kPod)) {
      if (key.ns == kSystem && TargetNode(*pod) == node) return pod;
    }
    return nullptr;
  }
  void LookAtPods() {
    (void)cluster.server().Handle("controller", kube::ListRequest(kube::kPods, {.ns = kSystem}));
  }
  void LookAtClaims() {
    (void)cluster.server().Handle("controller",
                                  kube::ListRequest(kube::kResourceClaims, {.ns = kDomain.ns}));
  }
  // Runs a daemon on node-1, where no claim is.
  void LabelIdleNode() {
    store().Edit("user", Kind::kNode, {.name = "node-1"},
                 [&](Value& node) { node["metadata"]["labels"][kDomainLabel] = uid; });
    Settle();
  }
  // A user changes the template of daemons.
  void ChangeTemplate() {
    store().Edit("user", Kind::kDaemonSet, DaemonKey(), [](Value& set) {
      set["spec"]["template"]["metadata"]["annotations"][kTemplateHashAnnotation] = "new";
    });
  }
  void AllowRollUnderJob() {
    store().Edit("user", Kind::kComputeDomain, kDomain, [](Value& domain) {
      domain["metadata"]["annotations"][kDaemonRollAnnotation] = "Always";
    });
  }
  void SetDeletionGrace(const std::string& grace) {
    store().Edit("user", Kind::kComputeDomain, kDomain, [&](Value& domain) {
      domain["metadata"]["annotations"][kDeletionGraceAnnotation] = grace;
    });
  }
  kube::ObjectKey DaemonKey() const { return {.ns = kSystem, .name = DaemonName(uid)}; }
  kube::ObjectKey CliqueObjectKey() const {
    return {.ns = kSystem, .name = CliqueName(uid, "c.1")};
  }
  void AskForDeletion() {
    workload->Finish();
    cluster.Settle();
    cluster.DeleteDomain(kDomain);
  }

  // Return the violations of one oracle, or of all oracles of safety.
  std::string Check(Violations (*oracle)(const ApiServer&, const SystemUnderTest&)) {
    return Lines(oracle(cluster.server(), system));
  }
  std::string Check(MakeOracle oracle) { return Lines(Find(oracle)); }
  Violations Find(MakeOracle oracle) {
    return OracleRunner(cluster.server(), system, {oracle}).Finish();
  }
  std::string CheckSafety() { return Lines(OracleRunner(cluster.server(), system).Finish()); }
  static std::string Lines(const Violations& violations) {
    std::string all;
    for (const std::string& violation : violations) all += violation + "\n";
    return all;
  }
  static testing::AssertionResult Contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no \"" << part << "\" in \"" << text << "\"";
  }

  Cluster cluster;
  TinyController controller;
  SystemUnderTest system = {.clients = {"controller"}};
  kube::Uid uid;
  Workload* workload = nullptr;
};

class DaemonWritesOraclesTest : public OraclesTest {
 protected:
  DaemonWritesOraclesTest() : OraclesTest(false) {}
};

}  // namespace simulation
