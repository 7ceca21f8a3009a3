// A reboot is known by node, and the next leader knows it, too.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "controller/compute_domain/pass/reconcile_pass.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::PassWorld;

constexpr int kNodes = 18;

std::string NodeName(int i) { return "node-" + std::to_string(i); }

// A rack in use, with the membership writer `controller`.
Observed Rack() {
  Observed observed = fixtures::Marked();
  Children& children = observed.children;
  for (int i = 2; i < kNodes; ++i) {
    const std::string node = NodeName(i);
    children.daemon_pods.push_back(fixtures::MakePod(node, i));
    children.daemon_pods.back().controller_writes = true;
    children.cliques[0].daemons.push_back(fixtures::MakeMember(node, i));
    children.claims.push_back(fixtures::MakeChannelClaim(node, "train-" + std::to_string(i)));
    observed.nodes.emplace(node, fixtures::MakeNode(node));
  }
  for (auto& [name, node] : observed.nodes) node.boot_id = "boot-1";
  return observed;
}

class Reboots : public testing::Test {
 protected:
  Reboots() { EXPECT_EQ(Reason(), "AllMembersReady"); }

  void EditNode(int i, const std::function<void(api::Node&)>& edit) {
    api::Node node = rack_.nodes.at(NodeName(i));
    edit(node);
    world_->server.Put(fixtures::Store(node));
  }
  void Reboot(int i) {
    EditNode(i, [](api::Node& node) { node.boot_id = "boot-2"; });
  }
  void ShowPod(int i, bool ready, const std::string& trouble = "") {
    api::DaemonPod pod = rack_.children.daemon_pods.at(static_cast<std::size_t>(i));
    pod.ready = ready;
    pod.started = "2026-01-01T12:00:00Z";
    pod.trouble = trouble;
    world_->server.Put(fixtures::Store(pod));
  }
  // A process that knows only what the API server has takes over.
  void ChangeLeader() {
    auto next = std::make_unique<PassWorld>(rack_, false);
    next->clock.Advance(world_->clock.Now() - next->clock.Now());
    next->server = world_->server;
    world_ = std::move(next);
  }

  // Runs passes until nothing changes.
  std::string Reason() { return Field("reason"); }
  // Returns the members that the condition names.
  std::string Names() {
    const std::string message = Field("message");
    return message.substr(0, message.find(';'));
  }
  std::string Field(const char* name) {
    EXPECT_LT(world_->Settle(), 20);
    return world_->Condition("MembersReady")[name].AsString();
  }

  const Observed rack_ = Rack();
  std::unique_ptr<PassWorld> world_ = std::make_unique<PassWorld>(rack_);
};

// Four nodes reboot, and the daemons of the others fail.
class RebootsInARack : public Reboots {
 protected:
  RebootsInARack() {
    for (int i = 0; i < kNodes; ++i) {
      if (i >= 3 && i < 7) {
        Reboot(i);
      } else {
        ShowPod(i, false);
      }
    }
  }

  const std::string rebooted_ = "Rebooted: node-3, node-4, node-5, node-6";
};

TEST_F(RebootsInARack, T5_NextLeaderNamesTheSame) {
  EXPECT_EQ(Names(), rebooted_);
  for (int i = 3; i < 7; ++i) ShowPod(i, false);
  EXPECT_EQ(Names(), rebooted_);
  ChangeLeader();
  EXPECT_EQ(Names(), rebooted_);
  EXPECT_EQ(Reason(), "NodeRebooted");
}

TEST_F(RebootsInARack, T5_NextLeaderNamesTheSame_ThoughStatusSaidNodeLost) {
  EditNode(9, [](api::Node& node) { node.ready = false; });
  EXPECT_EQ(Reason(), "NodeLost");
  for (int i = 3; i < 7; ++i) ShowPod(i, false);
  EXPECT_EQ(Names(), "Lost: node-9 (not ready)");
  ChangeLeader();
  EXPECT_EQ(Names(), "Lost: node-9 (not ready)");
  EditNode(9, [](api::Node&) {});
  EXPECT_EQ(Names(), rebooted_);
}

TEST_F(RebootsInARack, NextLeaderForgetsNodes_WhoseDaemonsAreReadyOrSayWhatIsWrong) {
  EXPECT_EQ(Names(), rebooted_);
  for (int i = 3; i < 5; ++i) ShowPod(i, false);
  ShowPod(5, true);
  ShowPod(6, false, "CrashLoopBackOff");
  ChangeLeader();
  EXPECT_EQ(Names(), "Rebooted: node-3, node-4");
  ShowPod(3, true);
  ShowPod(4, true);
  EXPECT_EQ(Reason(), "MembersNotReady");
  ShowPod(3, false);
  ShowPod(6, true);
  ChangeLeader();
  EXPECT_EQ(Reason(), "MembersNotReady") << "that was another time";
}

TEST_F(Reboots, NodeThatWasLostBefore_IsNamedByTheNextLeader) {
  EditNode(3, [](api::Node& node) { node.ready = false; });
  ShowPod(3, false);
  EXPECT_EQ(Reason(), "NodeLost");
  Reboot(3);
  EXPECT_EQ(Names(), "Rebooted: node-3");
  ChangeLeader();
  EXPECT_EQ(Names(), "Rebooted: node-3");
}

TEST_F(Reboots, CostNoRequestBesidesTheWritesOfReadiness) {
  const auto writes_until_rest = [&] {
    int writes = 0;
    for (int i = 0; i < 5; ++i) {
      world_->server.ShowAll(world_->cache);
      (void)world_->Run();
      writes += static_cast<int>(world_->Writes().size());
      world_->clock.Advance(std::chrono::seconds(1));
    }
    return writes;
  };
  ShowPod(2, false);
  const int without = writes_until_rest();
  Reboot(3);
  EXPECT_EQ(writes_until_rest(), without);
  ShowPod(3, false);
  EXPECT_EQ(writes_until_rest(), 0);
}

}  // namespace
}  // namespace compute_domain
