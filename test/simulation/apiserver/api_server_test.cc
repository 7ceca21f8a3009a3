#include "test/simulation/apiserver/api_server.h"

#include <gtest/gtest.h>

#include "pkg/kube/client/request.h"
#include "test/simulation/apiserver/fixtures.h"

namespace simulation {
namespace {

using json::Value;

const kube::Resource kDomains = Describe(Kind::kComputeDomain).resource;

class ApiServerTest : public testing::Test {
 protected:
  ApiServerTest() {
    store.Create("user", Kind::kNamespace, "", NamespaceObject("train"));
    for (const char* name : {"node-0", "node-1", "node-2"}) {
      store.Create("user", Kind::kNode, "", NodeObject(name, "b"));
    }
  }

  http::Response Send(const http::Request& request, Revision view = kNewest) {
    return server.Handle("replica-a", request, view);
  }
  Value SendForBody(const http::Request& request, Revision view = kNewest) {
    return *json::Parse(Send(request, view).body);
  }
  static std::string Names(const Value& list) {
    std::string names;
    for (const Value& item : list["items"].items()) {
      names += (names.empty() ? "" : " ") + item["metadata"]["name"].AsString();
    }
    return names;
  }

  ObjectStore store;
  ApiServer server{store};
};

TEST_F(ApiServerTest, AnswersEveryRequestThatTheClientBuilds) {
  const kube::ObjectKey key = {.ns = "train", .name = "cd-1"};
  EXPECT_EQ(Send(kube::CreateRequest(kDomains, "train", ComputeDomainObject("cd-1", "t"))).status,
            201);
  const Value domain = SendForBody(kube::GetRequest(kDomains, key));
  EXPECT_EQ(domain["kind"].AsString(), "ComputeDomain");
  const Value merge = *json::Parse(R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(Send(kube::MergePatchRequest(kDomains, key, merge)).status, 200);
  const Value json_patch =
      *json::Parse(R"([{"op":"test","path":"/metadata/labels/a","value":"b"}])");
  EXPECT_EQ(Send(kube::JsonPatchRequest(kDomains, key, json_patch)).status, 200);
  const Value status = *json::Parse(R"({"status":{"status":"Ready"}})");
  EXPECT_EQ(Send(kube::MergePatchRequest(kDomains, key, status, "status")).status, 200);
  EXPECT_EQ(Send(kube::UpdateRequest(kDomains, key, domain)).status, 409);
  EXPECT_EQ(
      Send(kube::DeleteRequest(kDomains, key, "other", kube::Propagation::kBackground)).status,
      409);
  const auto removed = Send(kube::DeleteRequest(kDomains, key, domain["metadata"]["uid"].AsString(),
                                                kube::Propagation::kBackground));
  EXPECT_EQ(removed.status, 200);
  EXPECT_EQ((*json::Parse(removed.body))["status"].AsString(), "Success");
  EXPECT_EQ(Send(kube::GetRequest(kDomains, key)).status, 404);
}

TEST_F(ApiServerTest, ErrorsAreWhatTheClientMakesOfThem) {
  const auto missing = kube::CheckStatus(
      Send(kube::GetRequest(kDomains, {.ns = "train", .name = "x"})), http::Method::kGet);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message,
            "404 NotFound: computedomains.resource.nvidia.com \"x\" not found");
  const http::Request create =
      kube::CreateRequest(kDomains, "train", ComputeDomainObject("cd-1", "t"));
  (void)Send(create);
  const auto taken = kube::CheckStatus(Send(create), http::Method::kPost);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, base::ErrorCode::kAlreadyExists);
}

TEST_F(ApiServerTest, ListsInOrderWithTheRevisionOfTheWhole) {
  const Value list = SendForBody(kube::ListRequest(kube::kNodes, {}));
  EXPECT_EQ(list["kind"].AsString(), "NodeList");
  EXPECT_EQ(list["metadata"]["resourceVersion"].AsString(), std::to_string(store.revision()));
  EXPECT_EQ(Names(list), "node-0 node-1 node-2");
  EXPECT_EQ(list["items"].items().at(0).Find("kind"), nullptr) << "said by the list already";
}

TEST_F(ApiServerTest, ItemsOfCustomResourcesSayTheirKind) {
  (void)Send(kube::CreateRequest(kDomains, "train", ComputeDomainObject("cd-1", "t")));
  const Value list = SendForBody(kube::ListRequest(kDomains, {}));
  EXPECT_EQ(list["items"].items().at(0)["kind"].AsString(), "ComputeDomain");
}

TEST_F(ApiServerTest, SelectorsChoose) {
  store.Edit("user", Kind::kNode, {.name = "node-1"},
             [](Value& node) { node["metadata"]["labels"]["a"] = "x"; });
  const auto names = [&](const kube::ListOptions& options) {
    return Names(SendForBody(kube::ListRequest(kube::kNodes, options)));
  };
  EXPECT_EQ(names({.label_selector = "a"}), "node-1");
  EXPECT_EQ(names({.label_selector = "a=x"}), "node-1");
  EXPECT_EQ(names({.label_selector = "!a"}), "node-0 node-2");
  EXPECT_EQ(names({.label_selector = "a!=x"}), "node-0 node-2");
  EXPECT_EQ(names({.label_selector = "a in (x,y),kubernetes.io/hostname"}), "node-1");
  EXPECT_EQ(names({.label_selector = "a notin (x, y)"}), "node-0 node-2");
  EXPECT_EQ(names({.field_selector = "metadata.name=node-2"}), "node-2");
  EXPECT_EQ(Send(kube::ListRequest(kube::kNodes, {.field_selector = "spec.taints=x"})).status, 400);
  EXPECT_EQ(Send(kube::ListRequest(kube::kNodes, {.label_selector = "a=b c"})).status, 400);
}

TEST_F(ApiServerTest, PagesAreOfOneRevisionWhateverHappensBetweenThem) {
  const Value first = SendForBody(kube::ListRequest(kube::kNodes, {.limit = 2}));
  EXPECT_EQ(Names(first), "node-0 node-1");
  EXPECT_EQ(first["metadata"]["remainingItemCount"].AsInt(), 1);
  store.Delete("user", Kind::kNode, {.name = "node-2"});
  const std::string token = first["metadata"]["continue"].AsString();
  const Value second =
      SendForBody(kube::ListRequest(kube::kNodes, {.continue_token = token, .limit = 2}));
  EXPECT_EQ(Names(second), "node-2");
  EXPECT_EQ(second["metadata"]["resourceVersion"].AsString(),
            first["metadata"]["resourceVersion"].AsString());
  EXPECT_TRUE(second["metadata"]["continue"].AsString().empty());
  server.Compact(store.revision());
  EXPECT_EQ(Send(kube::ListRequest(kube::kNodes, {.continue_token = token, .limit = 2})).status,
            410);
}

TEST_F(ApiServerTest, MetadataAloneIsSentToWhoAsksForIt) {
  const Value list = SendForBody(kube::ListRequest(kube::kNodes, {.metadata_only = true}));
  EXPECT_EQ(list["kind"].AsString(), "PartialObjectMetadataList");
  const Value& item = list["items"].items().at(0);
  EXPECT_EQ(item["metadata"]["name"].AsString(), "node-0");
  EXPECT_EQ(item.Find("status"), nullptr);
}

TEST_F(ApiServerTest, ReaderIsServedFromTheStateItsServerKnows) {
  const Revision before = store.revision();
  store.Delete("user", Kind::kNode, {.name = "node-1"});
  const Value stale = SendForBody(kube::ListRequest(kube::kNodes, {}), before);
  EXPECT_EQ(Names(stale), "node-0 node-1 node-2");
  EXPECT_EQ(stale["metadata"]["resourceVersion"].AsString(), std::to_string(before));
  EXPECT_EQ(Send(kube::GetRequest(kube::kNodes, {.name = "node-1"}), before).status, 200);
  EXPECT_EQ(Send(kube::GetRequest(kube::kNodes, {.name = "node-1"})).status, 404);
}

TEST_F(ApiServerTest, UnknownPatchesAndBodiesAreRefused) {
  http::Request request =
      kube::MergePatchRequest(kube::kNodes, {.name = "node-0"}, Value::Object());
  request.content_type = "application/strategic-merge-patch+json";
  EXPECT_EQ(Send(request).status, 415);
  request = kube::CreateRequest(kDomains, "train", Value::Object());
  request.body = "{";
  EXPECT_EQ(Send(request).status, 400);
  request.body = R"({"apiVersion":"v1","kind":"Pod"})";
  EXPECT_EQ(Send(request).status, 400);
}

TEST_F(ApiServerTest, PathsThatAreNoResourceAreNotFound) {
  for (const char* path : {"/", "/api/v1/secrets", "/apis/apps/v1/namespaces/a/daemonsets/b/c/d",
                           "/api/v1/namespaces/train/nodes/node-0", "/api/v1/nodes//node-0",
                           "/apis/resource.nvidia.com/v1/computedomains"}) {
    EXPECT_EQ(Send({.path = path}).status, 404) << path;
  }
}

TEST_F(ApiServerTest, EscapedSlashSeparatesLikeAnyOther) {
  const Target target = ParseTarget(http::Method::kDelete, "/api/v1/nodes/a%2Fstatus");
  EXPECT_EQ(target.key.name, "a");
  EXPECT_EQ(target.subresource, "status");
}

TEST_F(ApiServerTest, DiscoveryShowsWhatIsServed) {
  EXPECT_EQ(Send({.path = "/apis/resource.k8s.io/v1"}).status, 200);
  EXPECT_EQ(Send({.path = "/apis/resource.k8s.io/v1beta1"}).status, 404);
  store.SetServed(Kind::kClaim, false);
  const Value resources = SendForBody({.path = "/apis/resource.k8s.io/v1"});
  EXPECT_EQ(resources["resources"].items().size(), 2U);
  EXPECT_EQ(Send(kube::ListRequest(kube::kResourceClaims, {})).status, 404);
}

TEST_F(ApiServerTest, RecordsWhoAskedForWhatAndWhatTheySaid) {
  (void)Send(kube::CreateRequest(kDomains, "train", ComputeDomainObject("cd-1", "t")));
  ASSERT_EQ(server.requests().size(), 1U);
  const RequestRecord& record = server.requests().back();
  EXPECT_EQ(record.client, "replica-a");
  EXPECT_EQ(record.ToString(), "create computedomains.resource.nvidia.com train/");
  EXPECT_EQ(record.status, 201);
  EXPECT_EQ(store.history().changes().back().actor, "replica-a");
}

}  // namespace
}  // namespace simulation
