#include "controller/process/placement_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace process {
namespace {

using compute_domain::PlacementPolicy;
using std::chrono::minutes;
using std::chrono::seconds;

// Answers the requests in turn.
class Server final : public http::Transport {
 public:
  explicit Server(std::vector<base::Result<http::Response>> replies)
      : replies_(std::move(replies)) {}

  std::vector<base::Result<http::Response>> SendAll(
      const std::vector<http::Request>& requests) override {
    std::vector<base::Result<http::Response>> all;
    for (const http::Request& request : requests) {
      EXPECT_EQ(request.method, http::Method::kGet);
      asked.push_back(request.path);
      all.push_back(replies_.at(asked.size() - 1));
    }
    return all;
  }

  std::vector<std::string> asked = {};

 private:
  std::vector<base::Result<http::Response>> replies_;
};

http::Response Found() { return {.status = 200, .body = "{}"}; }

http::Response Missing(const std::string& name) {
  return {.status = 404,
          .body = R"({"kind":"Status","code":404,"reason":"NotFound","details":{"kind":)"
                  R"("mutatingadmissionpolicybindings","name":")" +
                  name + "\"}}"};
}

TEST(FindPlacementPolicy, REV4_1_EachBindingIsLookedFor) {
  Server server({Found(), Found()});
  EXPECT_EQ(FindPlacementPolicy(server), PlacementPolicy::kInstalled);
  const std::string path =
      "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/cdom-placement";
  EXPECT_EQ(server.asked, (std::vector<std::string>{path + "-preferred", path}));
  Server none({Missing("cdom-placement-preferred"), Missing("cdom-placement")});
  EXPECT_EQ(FindPlacementPolicy(none), PlacementPolicy::kMissing);
  Server placement({Found(), Missing("cdom-placement")});
  EXPECT_EQ(FindPlacementPolicy(placement), PlacementPolicy::kMissing);
  Server preferred({Missing("cdom-placement-preferred"), Found()});
  EXPECT_EQ(FindPlacementPolicy(preferred), PlacementPolicy::kPreferredMissing);
}

TEST(FindPlacementPolicy, BindingsOfAnOlderVersion_AreFound_IfV1IsNotServed) {
  const http::Response no_page = {.status = 404, .body = "404 page not found\n"};
  Server server({no_page, Found(), Missing("cdom-placement")});
  EXPECT_EQ(FindPlacementPolicy(server), PlacementPolicy::kMissing);
  ASSERT_EQ(server.asked.size(), 3U);
  EXPECT_EQ(server.asked[1],
            "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicybindings/"
            "cdom-placement-preferred");
}

TEST(FindPlacementPolicy, REV4_1_WhatDoesNotNameTheBindingProvesNothing) {
  const http::Response no_page = {.status = 404, .body = "404 page not found\n"};
  Server unserved({no_page, no_page});
  EXPECT_EQ(FindPlacementPolicy(unserved), PlacementPolicy::kNotServed);
  for (const base::Result<http::Response>& reply : std::vector<base::Result<http::Response>>{
           http::Response{.status = 403}, http::Response{.status = 500},
           http::Response{.status = 404, .body = "<html>no route</html>"},
           base::Unavailable("no connection")}) {
    Server first({reply});
    EXPECT_FALSE(FindPlacementPolicy(first));
    Server second({Missing("cdom-placement-preferred"), reply});
    EXPECT_FALSE(FindPlacementPolicy(second));
  }
}

constexpr base::Clock::TimePoint kStart = base::Clock::TimePoint() + std::chrono::hours(1);

TEST(PlacementLooks, LookIsRepeatedSoonerWhileAPolicyIsMissing) {
  PlacementLooks looks;
  EXPECT_TRUE(looks.TakeTurn(kStart, 0));
  looks.Looked(kStart, 0, true, false);
  EXPECT_FALSE(looks.TakeTurn(kStart + seconds(9), 1));
  EXPECT_TRUE(looks.TakeTurn(kStart + seconds(10), 1));
  looks.Looked(kStart + seconds(10), 1, true, false);
  EXPECT_FALSE(looks.TakeTurn(kStart + seconds(29), 2));
  looks.Looked(kStart + seconds(30), 2, false, false);
  EXPECT_FALSE(looks.TakeTurn(kStart + minutes(30), 3));
  EXPECT_TRUE(looks.TakeTurn(kStart + minutes(31), 2));
}

TEST(PlacementLooks, ClusterInWhichNothingHappensIsSeldomAsked) {
  PlacementLooks looks;
  looks.Looked(kStart, 5, true, false);
  EXPECT_FALSE(looks.TakeTurn(kStart + minutes(5), 5));
  EXPECT_TRUE(looks.TakeTurn(kStart + minutes(5), 6));
  EXPECT_TRUE(looks.TakeTurn(kStart + minutes(30), 5));
}

TEST(PlacementLooks, PassesThatNewsCausesShowNoChange) {
  PlacementLooks looks;
  looks.Looked(kStart, 0, true, true);
  EXPECT_EQ(looks.Next(kStart), kStart + seconds(10));
  EXPECT_FALSE(looks.TakeTurn(kStart + seconds(10), 1000));
  EXPECT_EQ(looks.Next(kStart + seconds(10)), kStart + seconds(15));
  EXPECT_FALSE(looks.TakeTurn(kStart + seconds(15), 1000));
  EXPECT_TRUE(looks.TakeTurn(kStart + seconds(20), 1001));
  looks.Looked(kStart + seconds(20), 1001, false, false);
  EXPECT_EQ(looks.Next(kStart + minutes(30)), kStart + seconds(20) + minutes(30));
}

TEST(PlacementLooks, StandbyLooksThoughItMakesNoPass) {
  PlacementLooks looks;
  looks.Looked(kStart, std::nullopt, true, false);
  EXPECT_TRUE(looks.TakeTurn(kStart + minutes(6), std::nullopt));
  EXPECT_TRUE(looks.TakeTurn(kStart + minutes(6), 0));
}

}  // namespace
}  // namespace process
