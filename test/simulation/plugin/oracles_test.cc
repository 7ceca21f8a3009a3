// Goal: each oracle over kubelet plugins is green where nobody does wrong, and red after each wrong
// that it is there for. The domain and its claims are real; what befalls the node is told by hand.
#include "test/simulation/plugin/oracles.h"

#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

using std::chrono::seconds;
using What = PluginEvent::What;

class PluginOraclesTest : public OraclesTest {
 protected:
  PluginOraclesTest() {
    for (const auto& [key, claim] : store().Live(Kind::kClaim)) {
      if (AllocatedNode(*claim) != "node-0") continue;
      (FindConfig(*claim)->is_channel ? channel_ : daemon_) = claim->uid();
    }
  }

  // On node-0, now.
  PluginEvent Event(What what, const kube::Uid& name) {
    return {.what = what,
            .node = "node-0",
            .boot_id = "boot-1",
            .name = name,
            .revision = store().revision(),
            .time = store().now()};
  }
  PluginEvent Prepared() {
    PluginEvent event = Event(What::kPrepared, channel_);
    event.cdi_ids = {"k8s.compute-domain.nvidia.com/claim=" + channel_ + "-channel-0"};
    event.has_spec = true;
    return event;
  }
  std::string CheckAll(const PluginEvents& events) {
    return Lines(CheckPlugins(cluster.server(), events));
  }
  // Nobody serves on node-0 any more, for longer than any view is old.
  void EndDaemon() {
    cluster.FailNode("node-0");
    store().Edit("user", Kind::kClique, CliqueObjectKey(),
                 [](Value& clique) { clique["daemons"] = Value::Array(); });
    store().Edit(
        "user", Kind::kComputeDomain, kDomain,
        [](Value& domain) { domain["status"]["nodes"] = Value::Array(); }, Subresource::kStatus);
    cluster.Advance(seconds(21));
  }

  kube::Uid channel_;
  kube::Uid daemon_;
};

TEST_F(PluginOraclesTest, AllAreGreenOfAClaimThatIsPreparedAndTakenBack) {
  PluginEvent given = Event(What::kSpecWritten, channel_);
  given.text = R"({"containerEdits":"nvidia-caps-imex-channels"})";
  const PluginEvent prepared = Prepared();
  cluster.agent("node-0").StopPlugin(cluster.now());
  store().Edit("user", Kind::kNode, {.name = "node-0"},
               [](Value& node) { node["metadata"]["labels"].Erase(kDomainLabel); });
  PluginEvent unprepared = Event(What::kUnprepared, channel_);
  unprepared.is_last = true;
  EXPECT_EQ(CheckAll({given, prepared, unprepared}), "");
}

TEST_F(PluginOraclesTest, N1SeesAChannelThatIsGivenWhereNoDaemonIsReady) {
  const PluginEvent before = Prepared();
  EndDaemon();
  const PluginEvent again = Prepared();
  EXPECT_TRUE(Contains(CheckAll({again}), "N-1"));
  EXPECT_EQ(CheckAll({before, again}), "") << "it has it already";
  EXPECT_TRUE(Contains(CheckAll({before, Event(What::kUnprepared, channel_), again}),
                       "gets a channel although the node was not ready"));
}

TEST_F(PluginOraclesTest, N2SeesAClaimOfAnotherNamespaceOrNode) {
  PluginEvent elsewhere = Prepared();
  elsewhere.node = "node-1";
  EXPECT_TRUE(Contains(CheckAll({elsewhere}), "N-2"));
  const ObjectPtr claim = FindByUid(store().Live(Kind::kClaim), channel_);
  Value copy = claim->value();
  copy["metadata"] = Value::Object({{"name", "stolen"}});
  ASSERT_TRUE(store().Create("user", Kind::kClaim, "other", copy).ok());
  store().Edit(
      "user", Kind::kClaim, {.ns = "other", .name = "stolen"},
      [&](Value& object) { object["status"] = copy["status"]; }, Subresource::kStatus);
  PluginEvent stolen = Prepared();
  stolen.name = store().Get(Kind::kClaim, {.ns = "other", .name = "stolen"})->uid();
  EXPECT_TRUE(Contains(CheckAll({stolen}), "is prepared, and is not of namespace train"));
}

TEST_F(PluginOraclesTest, N3SeesWhatStaysAndAFolderThatGoesTooEarly) {
  PluginEvent folder = Event(What::kFolderRemoved, uid);
  EXPECT_TRUE(Contains(CheckAll({folder}), "goes although it is needed"));
  PluginEvent unprepared = Event(What::kUnprepared, channel_);
  EXPECT_EQ(CheckAll({unprepared}), "");
  unprepared.is_last = true;
  EXPECT_EQ(CheckAll({unprepared}), "") << "it may stay for a while";
  cluster.Advance(seconds(61));
  EXPECT_TRUE(Contains(CheckAll({unprepared}), "was unprepared, and the label stays"));
  unprepared.has_spec = true;
  EXPECT_TRUE(Contains(CheckAll({unprepared}), "was unprepared and has a spec"));
}

TEST_F(PluginOraclesTest, N4SeesAChannelThatTwoClaimsHold) {
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-0"});
  Settle();  // It waits: the node's channel is taken.
  const ObjectPtr claim = FindByUid(store().Live(Kind::kClaim), channel_);
  PluginEvent rival = Prepared();
  for (const auto& [key, other] : store().Live(Kind::kClaim)) {
    if (key.ns != "train" || !AllocatedNode(*other).empty()) continue;
    store().Edit(
        "user", Kind::kClaim, key,
        [&](Value& object) { object["status"]["allocation"] = (*claim)["status"]["allocation"]; },
        Subresource::kStatus);
    rival.name = other->uid();
  }
  ASSERT_NE(rival.name, channel_);
  const PluginEvent first = Prepared();
  EXPECT_TRUE(Contains(CheckAll({first, rival}), "both hold channel-0"));
  EXPECT_EQ(CheckAll({first, Event(What::kUnprepared, channel_), rival}),
            CheckAll({Event(What::kUnprepared, channel_)}));
}

TEST_F(PluginOraclesTest, N5SeesDeviceNumbersOfAnEarlierDriver) {
  PluginEvent prepared = Prepared();
  prepared.has_old_numbers = true;
  EXPECT_TRUE(Contains(CheckAll({prepared}), "with device numbers of an earlier driver"));
}

TEST_F(PluginOraclesTest, N5SeesASpecThatIsNotThereOrGoesUnderItsContainers) {
  PluginEvent prepared = Prepared();
  prepared.has_spec = false;
  EXPECT_TRUE(Contains(CheckAll({prepared}), "that is not there"));
  PluginEvent removed = Event(What::kSpecRemoved, channel_);
  EXPECT_EQ(CheckAll({removed}), "");
  removed.in_use = true;
  EXPECT_TRUE(Contains(CheckAll({removed}), "goes although its containers run"));
}

TEST_F(PluginOraclesTest, REV3_N1_N6SeesAClaimThatComesBackUnasked) {
  const PluginEvent unprepared = Event(What::kUnprepared, channel_);
  for (const What what : {What::kCheckpointed, What::kSpecWritten}) {
    EXPECT_TRUE(
        Contains(CheckAll({unprepared, Event(what, channel_)}), "comes back without a prepare"));
    EXPECT_EQ(CheckAll({unprepared, Event(What::kCalled, channel_), Event(what, channel_)}), "");
  }
}

TEST_F(PluginOraclesTest, N7SeesACallThatTheKubeletGivesUp) {
  EXPECT_TRUE(Contains(CheckAll({Event(What::kNotAnswered, channel_)}),
                       "N-7 at revision " + std::to_string(store().revision()) +
                           ": on node-0 the kubelet gave up a call for claim"));
}

}  // namespace
}  // namespace simulation
