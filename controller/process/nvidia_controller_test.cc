#include "controller/process/nvidia_controller.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"

namespace process {
namespace {

using std::chrono::seconds;
using Is = NvidiaController::Is;

const kube::ObjectKey kLease = {.ns = "nvidia", .name = "dra-driver-nvidia-gpu-controller"};

// NVIDIA's Deployment as its chart makes it with leader election, but for what does not matter.
json::Value Electing(const std::string& name = "dra-driver-nvidia-gpu-controller") {
  auto parsed = json::Parse(R"json({
    "metadata": {"namespace": "nvidia", "generation": 3},
    "spec": {"replicas": 1, "template": {
      "metadata": {"labels": {"nvidia-dra-driver-gpu-component": "controller"}},
      "spec": {"containers": [{
        "name": "compute-domain",
        "command": ["compute-domain-controller", "-v", "$(LOG_VERBOSITY)"],
        "env": [
          {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
          {"name": "LEADER_ELECTION_ENABLED", "value": "true"},
          {"name": "LEADER_ELECTION_LEASE_LOCK_NAME", "value": "dra-driver-nvidia-gpu-controller"},
          {"name": "LEADER_ELECTION_LEASE_LOCK_NAMESPACE", "value": "nvidia"}]}]}}},
    "status": {"observedGeneration": 3, "replicas": 1, "updatedReplicas": 1}})json");
  EXPECT_TRUE(parsed);
  (*parsed)["metadata"]["name"] = name;
  return *std::move(parsed);
}

json::Value& ContainerIn(json::Value& deployment) {
  return deployment["spec"]["template"]["spec"]["containers"].MutableItems()[0];
}

void SetEnv(json::Value& deployment, const std::string& name, const json::Value& value) {
  json::Value& env = ContainerIn(deployment)["env"];
  env.Append(json::Value::Object({{"name", name}, {"value", value}}));
}

std::string ListOf(const std::vector<json::Value>& deployments) {
  json::Value items = json::Value::Array();
  for (const json::Value& one : deployments) items.Append(one);
  return json::Serialize(
      json::Value::Object({{"metadata", json::Value::Object()}, {"items", items}}));
}

NvidiaController Find(const std::vector<json::Value>& deployments) {
  json::Parser parser;
  const std::string text = ListOf(deployments);
  const auto list = parser.Parse(text);
  EXPECT_TRUE(list);
  return FindNvidiaController(*list, kLease);
}

Is AfterChange(const std::function<void(json::Value&)>& change) {
  json::Value deployment = Electing();
  change(deployment);
  return Find({deployment}).is;
}

TEST(FindNvidiaController, TellsItFromOtherDeploymentsAndFromCdom) {
  EXPECT_EQ(Find({}), NvidiaController());
  EXPECT_EQ(
      Find({Electing()}),
      (NvidiaController{.is = Is::kElects,
                        .deployment = {.ns = "nvidia", .name = "dra-driver-nvidia-gpu-controller"},
                        .lease = kLease}));
  EXPECT_EQ(AfterChange([](json::Value& one) {
              one["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/part-of"] = "cdom";
            }),
            Is::kAbsent);
  EXPECT_EQ(AfterChange([](json::Value& one) {
              ContainerIn(one)["command"] = json::Value::Array({"gpu-kubelet-plugin"});
            }),
            Is::kAbsent);
  EXPECT_EQ(AfterChange([](json::Value& one) {
              ContainerIn(one)["command"] =
                  json::Value::Array({"/usr/bin/compute-domain-controller"});
            }),
            Is::kElects);
}

TEST(FindNvidiaController, ElectsOnlyIfItsDeploymentSaysSo) {
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_EQ(AfterChange([&](json::Value& one) { SetEnv(one, "LEADER_ELECTION_ENABLED", yes); }),
              Is::kElects)
        << yes;
  }
  for (const char* no : {"", "0", "false", "yes", "tRUE"}) {
    EXPECT_EQ(AfterChange([&](json::Value& one) { SetEnv(one, "LEADER_ELECTION_ENABLED", no); }),
              Is::kActsAlone)
        << no;
  }
  EXPECT_EQ(AfterChange([](json::Value& one) { ContainerIn(one)["env"] = json::Value::Array(); }),
            Is::kActsAlone)
      << "its default";
  EXPECT_EQ(AfterChange([](json::Value& one) {
              ContainerIn(one)["args"] = json::Value::Array({"--leader-election-enabled=false"});
            }),
            Is::kActsAlone)
      << "a flag wins";
  EXPECT_EQ(AfterChange([](json::Value& one) {
              SetEnv(one, "LEADER_ELECTION_ENABLED", "false");
              ContainerIn(one)["args"] = json::Value::Array({"-leader-election-enabled"});
            }),
            Is::kElects);
}

TEST(FindNvidiaController, ElectsElsewhereOnAnotherLease) {
  EXPECT_EQ(AfterChange([](json::Value& one) {
              SetEnv(one, "LEADER_ELECTION_LEASE_LOCK_NAME", "nvidia-dra-driver-controller");
            }),
            Is::kElectsElsewhere);
  EXPECT_EQ(AfterChange([](json::Value& one) {
              SetEnv(one, "LEADER_ELECTION_LEASE_LOCK_NAMESPACE", "default");
            }),
            Is::kElectsElsewhere);
  json::Value by_default = Electing();
  ContainerIn(by_default)["env"] = json::Value::Array();
  ContainerIn(by_default)["args"] =
      json::Value::Array({"--leader-election-enabled", "--leader-election-lease-lock-name", "x"});
  EXPECT_EQ(Find({by_default}).lease, (kube::ObjectKey{.ns = "default", .name = "x"}));
}

TEST(FindNvidiaController, RolloutHasPodsOfTheTemplateBefore) {
  EXPECT_EQ(AfterChange([](json::Value& one) { one["metadata"]["generation"] = 4; }), Is::kChanges)
      << "nobody has seen the newest template";
  EXPECT_EQ(AfterChange([](json::Value& one) { one["status"]["replicas"] = 2; }), Is::kChanges)
      << "a pod of the older template runs";
  EXPECT_EQ(AfterChange([](json::Value& one) { one["spec"]["replicas"] = 0; }), Is::kChanges)
      << "a pod has yet to end";
  EXPECT_EQ(AfterChange([](json::Value& one) {
              one["spec"]["replicas"] = 0;
              one["status"] = json::Value::Object({{"observedGeneration", 3}});
            }),
            Is::kAbsent);
  EXPECT_EQ(AfterChange([](json::Value& one) {
              one["status"] = json::Value::Object({{"observedGeneration", 3}});
            }),
            Is::kElects)
      << "its pods cannot be made, as with a quota";
}

TEST(FindNvidiaController, OfSeveralTheOneThatLeavesNoRoomCounts) {
  json::Value alone = Electing("other");
  ContainerIn(alone)["env"] = json::Value::Array();
  EXPECT_EQ(Find({Electing(), alone, Electing()}).deployment.name, "other");
  EXPECT_EQ(Find({Electing(), alone}).is, Is::kActsAlone);
}

class BesideNvidiaTest : public ::testing::Test {
 protected:
  class Server final : public http::Transport {
   public:
    http::Response reply = {.status = 503};
    std::vector<std::string> paths = {};

   private:
    std::vector<base::Result<http::Response>> SendAll(
        const std::vector<http::Request>& requests) override {
      std::vector<base::Result<http::Response>> replies;
      for (const http::Request& request : requests) {
        paths.push_back(request.path);
        replies.emplace_back(reply);
      }
      return replies;
    }
  };

  void Serve(const std::vector<json::Value>& deployments) {
    server_.reply = {.status = 200, .body = ListOf(deployments)};
  }
  // Looks each 2 s for so long.
  bool MayElectAfter(seconds time) {
    const auto end = clock_.Now() + time;
    beside_.Look(server_);
    while (clock_.Now() < end) {
      clock_.Advance(seconds(1));
      beside_.Look(server_);
    }
    return beside_.MayElect();
  }

  Server server_;
  base::ManualClock clock_;
  kube::RecordingLogger logger_;
  BesideNvidia beside_{{.ns = "nvidia", .lease = kLease}, clock_, logger_};
};

TEST_F(BesideNvidiaTest, ElectsALeaseDurationAfterNvidiasControllerLeavesRoom) {
  Serve({});
  EXPECT_FALSE(MayElectAfter(seconds(14)));
  EXPECT_TRUE(MayElectAfter(seconds(1)));
  EXPECT_EQ(server_.paths.front(), "/apis/apps/v1/namespaces/nvidia/deployments?limit=500");
  EXPECT_EQ(server_.paths.size(), 8U) << "each 2 s";
  EXPECT_EQ(logger_.Count("is not there, electing after one Lease duration"), 1U);
  Serve({Electing()});
  EXPECT_TRUE(MayElectAfter(seconds(2))) << "it left room before, too";
  EXPECT_EQ(logger_.Count("elects on the same Lease"), 1U);
}

TEST_F(BesideNvidiaTest, StandsDownForAControllerThatActsAlone) {
  Serve({});
  EXPECT_TRUE(MayElectAfter(seconds(15)));
  json::Value alone = Electing();
  ContainerIn(alone)["env"] = json::Value::Array();
  Serve({alone});
  EXPECT_FALSE(MayElectAfter(seconds(2)));
  EXPECT_FALSE(MayElectAfter(seconds(60)));
  EXPECT_EQ(logger_.Count("deployment=nvidia/dra-driver-nvidia-gpu-controller "
                          "remedy=set controller.leaderElection.enabled=true"),
            1U);
  Serve({Electing()});
  EXPECT_FALSE(MayElectAfter(seconds(14)));
  EXPECT_TRUE(MayElectAfter(seconds(3)));
}

TEST_F(BesideNvidiaTest, RolloutChangesNothingUntilItsEnd) {
  json::Value changing = Electing();
  changing["status"]["replicas"] = 2;
  Serve({changing});
  EXPECT_FALSE(MayElectAfter(seconds(60))) << "the older pod may act alone";
  Serve({Electing()});
  EXPECT_TRUE(MayElectAfter(seconds(17))) << "15 s after it is seen";
  Serve({changing});
  EXPECT_TRUE(MayElectAfter(seconds(60))) << "both pods elect";
}

TEST_F(BesideNvidiaTest, UnknownIsNotAbsent) {
  EXPECT_FALSE(MayElectAfter(seconds(60)));
  EXPECT_EQ(logger_.Count("Cannot see whether NVIDIA's controller elects"), 1U);
  server_.reply = {.status = 200, .body = R"({"metadata": {"continue": "x"}, "items": []})"};
  EXPECT_FALSE(MayElectAfter(seconds(60))) << "it may be on another page";
}

TEST_F(BesideNvidiaTest, ReadThatFailsChangesNothing) {
  Serve({Electing()});
  EXPECT_TRUE(MayElectAfter(seconds(15)));
  server_.reply = {.status = 503};
  EXPECT_TRUE(MayElectAfter(seconds(60))) << "the Lease protects the term";
}

}  // namespace
}  // namespace process
