#include "pkg/kube/discovery/version_search.h"

#include <gtest/gtest.h>

#include "pkg/kube/client/request.h"

namespace kube {
namespace {

// Of a group or version that the API server does not serve.
const http::Response kNotServed = {.status = 404, .body = "404 page not found\n"};

using base::ErrorCode;
using Versions = std::vector<std::string>;

http::Response Listing(const std::string& plural) {
  return {.status = 200,
          .body = R"({"kind":"APIResourceList","resources":[{"name":"pods"},{"name":")" + plural +
                  R"("}]})"};
}

// A search for claims, and what it has asked for.
struct World {
  using Found = base::Result<std::optional<Resource>>;

  Found Reply(const http::Response& reply) {
    asked.push_back(search.Next().path);
    return search.OnReply(CheckStatus(reply, http::Method::kGet));
  }
  // The version that was found; "" while the search goes on.
  std::string VersionAfter(const http::Response& reply) {
    const Found found = Reply(reply);
    EXPECT_TRUE(found) << found.error().message;
    return found && *found ? (*found)->version : "";
  }

  VersionSearch search{kResourceClaims, {"v1", "v1beta2", "v1beta1"}};
  Versions asked;
};

TEST(VersionSearch, FirstVersionThatListsTheResourceIsTaken) {
  World world;
  EXPECT_EQ(world.VersionAfter(kNotServed), "");
  EXPECT_EQ(world.VersionAfter(Listing("resourceclaims")), "v1beta2");
  EXPECT_EQ(world.asked, (Versions{"/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1beta2"}));
}

TEST(VersionSearch, VersionThatListsOtherResourcesOnlyIsPassedOver) {
  World world;
  EXPECT_EQ(world.VersionAfter(Listing("devicetaintrules")), "");
  EXPECT_EQ(world.VersionAfter(Listing("resourceclaims/status")), "");
  EXPECT_EQ(world.VersionAfter(Listing("resourceclaims")), "v1beta1");
}

TEST(VersionSearch, NoneIsAnErrorThatNamesAllAndTheSearchBeginsAnew) {
  World world;
  EXPECT_EQ(world.VersionAfter(kNotServed), "");
  EXPECT_EQ(world.VersionAfter(kNotServed), "");
  const World::Found none = world.Reply(kNotServed);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message,
            "resourceclaims.resource.k8s.io is served in none of v1, v1beta2, v1beta1");
  EXPECT_EQ(world.VersionAfter(Listing("resourceclaims")), "v1");
}

TEST(VersionSearch, VersionThatCannotBeAskedIsAskedAgainAndNotPassedOver) {
  World world;
  EXPECT_EQ(world.VersionAfter(kNotServed), "");
  for (const http::Response& bad :
       {http::Response{.status = 503}, http::Response{.status = 403},
        http::Response{.status = 200, .body = "<html>"},
        http::Response{.status = 200, .body = R"({"kind":"Status"})"}}) {
    const World::Found failed = world.Reply(bad);
    ASSERT_FALSE(failed) << bad.status;
    EXPECT_NE(failed.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(world.asked.back(), "/apis/resource.k8s.io/v1beta2");
  }
  EXPECT_EQ(world.VersionAfter(Listing("resourceclaims")), "v1beta2");
}

TEST(VersionSearch, CoreGroupHasAPathOfItsOwn) {
  EXPECT_EQ(VersionSearch(kNodes, {"v1"}).Next().path, "/api/v1");
}

}  // namespace
}  // namespace kube
