#include "node/daemon/writes.h"

#include <gtest/gtest.h>

#include "pkg/http/testing/script.h"
#include "pkg/json/value.h"

namespace imex_daemon {
namespace {

using http::testing::Script;

class PerformTest : public ::testing::Test {
 protected:
  static std::string Clique(const std::string& version, const std::string& daemons) {
    return R"({"metadata":{"name":"d.c.1","namespace":"driver","uid":"u","resourceVersion":")" +
           version + R"("},"daemons":)" + daemons + "}";
  }
  base::Result<Written> PerformWrite(Write write, bool ready = false) {
    return Perform(self_, {.write = write, .ready = ready, .report = {.state = "READY"}}, script_);
  }

  const DaemonIdentity self_ = {.domain = "d",
                                .clique = "c.1",
                                .node = "node-a",
                                .ip = "10.0.0.7",
                                .pod = {.ns = "driver", .name = "pod"},
                                .pod_uid = "pod-uid",
                                .nodes_max = 18};
  Script script_;
};

constexpr const char* kConflict =
    R"({"kind":"Status","code":409,"reason":"Conflict","message":"changed"})";

TEST_F(PerformTest, LabelsThisVeryPodAndLearnsWhoWritesItsEntry) {
  script_.Answer(
      200, R"({"metadata":{"name":"pod","namespace":"driver","uid":"pod-uid","resourceVersion":"7",
                        "labels":{"cdom.dev/membership-writer":"controller"}}})");
  const auto written = PerformWrite(Write::kLabel);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->membership_writer, MembershipWriter::kController);
  ASSERT_EQ(script_.asked.size(), 1U);
  EXPECT_EQ(script_.asked[0].method, http::Method::kPatch);
  EXPECT_EQ(script_.asked[0].path, "/api/v1/namespaces/driver/pods/pod");
  EXPECT_EQ(
      script_.asked[0].body,
      R"({"metadata":{"uid":"pod-uid","labels":{"resource.nvidia.com/computeDomain.cliqueID":"c.1"}}})");
}

TEST_F(PerformTest, PodWithoutTheMarkerIsOfADaemonThatWritesItself) {
  script_.Answer(
      200,
      R"({"metadata":{"name":"pod","namespace":"driver","uid":"pod-uid","resourceVersion":"7"}})");
  EXPECT_EQ(PerformWrite(Write::kLabel)->membership_writer, MembershipWriter::kDaemon);
}

TEST_F(PerformTest, RightThatIsMissingIsSaidWithWhatWasTried) {
  script_.Answer(
      403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no patch of pods"})");
  const auto written = PerformWrite(Write::kLabel);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, base::ErrorCode::kForbidden);
  EXPECT_EQ(written.error().message,
            "label pod driver/pod with its clique: 403 Forbidden: no patch of pods");
}

TEST_F(PerformTest, EntryGoesIntoTheCliqueAsItIsNowAndOnlyIntoThat) {
  script_.Answer(200, Clique("41", R"([{"nodeName":"node-b","ipAddress":"10.0.0.8","index":0}])"));
  script_.Answer(200, Clique("42", "[]"));
  EXPECT_EQ(PerformWrite(Write::kEntry)->version, "42");
  ASSERT_EQ(script_.asked.size(), 2U);
  EXPECT_EQ(script_.asked[0].method, http::Method::kGet);
  EXPECT_EQ(script_.asked[1].method, http::Method::kPut);
  const auto sent = json::Parse(script_.asked[1].body);
  ASSERT_TRUE(sent);
  EXPECT_EQ((*sent)["metadata"]["resourceVersion"].AsString(), "41");
  EXPECT_EQ((*sent)["daemons"].items()[1]["index"].AsInt(), 1);
}

TEST_F(PerformTest, SomebodyWhoWasFasterIsAConflictAndNothingIsWrittenTwice) {
  script_.Answer(200, Clique("41", "[]"));
  script_.Answer(409, kConflict);
  EXPECT_EQ(PerformWrite(Write::kEntry).error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(script_.asked.size(), 2U);
}

TEST_F(PerformTest, EntryThatIsRightAlreadyIsNotWritten) {
  script_.Answer(200, R"({"metadata":{"resourceVersion":"41","ownerReferences":[{"uid":"pod-uid"}]},
      "daemons":[{"nodeName":"node-a","ipAddress":"10.0.0.7","cliqueID":"c.1","index":0,"status":"Ready"}]})");
  EXPECT_EQ(PerformWrite(Write::kEntry, true)->version, "41");
  EXPECT_EQ(script_.asked.size(), 1U);
}

TEST_F(PerformTest, LeavesWithoutAWriteWhereItIsNot) {
  script_.Answer(200, Clique("41", R"([{"nodeName":"node-b","ipAddress":"10.0.0.7","index":0}])"));
  EXPECT_TRUE(PerformWrite(Write::kLeave));
  EXPECT_EQ(script_.asked.size(), 1U);
  script_.Answer(404, R"({"kind":"Status","code":404,"reason":"NotFound","details":)"
                      R"({"kind":"computedomaincliques","name":")" +
                          self_.CliqueKey().name + R"("}})");
  EXPECT_TRUE(PerformWrite(Write::kLeave));
  script_.Answer(404, "<html>default backend</html>");
  EXPECT_FALSE(PerformWrite(Write::kLeave));
}

TEST_F(PerformTest, CliqueThatCannotBeReadAsJsonIsNotWrittenBack) {
  script_.Answer(200, "{\"daemons\":[");
  EXPECT_FALSE(PerformWrite(Write::kEntry));
  EXPECT_EQ(script_.asked.size(), 1U);
}

TEST_F(PerformTest, ReportIsAnAnnotationOfThisVeryPod) {
  script_.Answer(200, "{}");
  EXPECT_TRUE(PerformWrite(Write::kReport));
  const auto sent = json::Parse(script_.asked[0].body);
  ASSERT_TRUE(sent);
  EXPECT_EQ((*sent)["metadata"]["uid"].AsString(), "pod-uid");
  EXPECT_EQ((*sent)["metadata"]["annotations"]["cdom.dev/imex"].AsString(),
            api::Encode({.state = "READY"}));
  EXPECT_EQ((*sent)["metadata"].members().size(), 2U);
}

}  // namespace
}  // namespace imex_daemon
