#include "controller/uninstall/release_finalizers.h"

#include <gtest/gtest.h>

#include "test/fixtures/map_server.h"
#include "test/fixtures/observed.h"

namespace uninstall {
namespace {

using compute_domain::Kind;
using compute_domain::Observed;
using std::chrono::seconds;
using Lines = std::vector<std::string>;
using Reply = base::Result<http::Response>;

// A domain whose finalizer we hold, and whose children hold the one that the reference gave them.
Observed MadeByTheReference() {
  Observed observed = fixtures::Converged();
  for (auto& set : observed.children.daemon_sets) {
    set.meta.finalizers = {std::string(api::kFinalizer), "example.com/other"};
  }
  for (auto& made : observed.children.templates) {
    made.meta.finalizers = {std::string(api::kFinalizer)};
  }
  return observed;
}

class Cluster final : public http::Transport {
 public:
  explicit Cluster(const Observed& observed) {
    server.PutAll(fixtures::StoreAll(observed));
    server.Intercept([this](const std::string& line) { return Intercept(line); });
  }

  std::vector<Reply> SendAll(const std::vector<http::Request>& requests) override {
    std::vector<Reply> replies;
    for (const http::Request& request : requests) replies.push_back(server.Serve(request));
    return replies;
  }

  base::Result<void> Release(const UninstallOptions& options = {}) {
    UninstallOptions all = options;
    all.driver_namespaces = {fixtures::kDriverNs, fixtures::kOldDriverNs};
    all.leases = {{.ns = fixtures::kDriverNs, .name = "cdom-controller"},
                  {.ns = fixtures::kDriverNs, .name = "nvidia-compute-domain-controller"}};
    said.clear();
    return ReleaseFinalizers(all,
                             {.transport = *this,
                              .wait =
                                  [this](seconds time) {
                                    waited += time;
                                    if (renews) ++lease_version;
                                  },
                              .say = [this](const std::string& line) { said.push_back(line); }});
  }
  Lines Finalizers(Kind kind, const kube::ObjectKey& key) const {
    Lines names;
    const json::Value object = server.Get(kind, key);
    for (const json::Value& name : object["metadata"]["finalizers"].items()) {
      names.push_back(name.AsString());
    }
    return names;
  }
  bool HoldsAny() const {
    return !Finalizers(Kind::kComputeDomain, {fixtures::kUserNs, "train"}).empty();
  }
  int Patches() const {
    return static_cast<int>(std::ranges::count_if(
        server.lines(), [](const std::string& line) { return line.starts_with("PATCH"); }));
  }

  fixtures::MapServer server;
  Lines said;
  seconds waited{0};
  std::string lease = "cdom-controller";  // The one that exists; empty: none does.
  std::string lease_ns = fixtures::kDriverNs;
  std::string holder;  // Of the Lease; empty: nobody.
  // Of the namespace of the Leases; empty: it does not exist.
  std::string ns = R"({"metadata":{"name":"cdom-system"}})";
  int lease_version = 1;
  bool renews = false;
  std::string served = "v1";  // Of resource.k8s.io.
  // Fails requests whose line contains it, that often.
  std::string fails = "-";
  int fail_status = 0;
  int fail_times = 0;
  // The one object whose line ends so has lost its finalizers by now, and has half a character in
  // it.
  std::string unreadable = "-";

 private:
  json::Value Lease() const {
    json::Value object;
    object["metadata"]["name"] = lease;
    object["metadata"]["namespace"] = lease_ns;
    object["metadata"]["uid"] = "lease";
    object["metadata"]["resourceVersion"] = std::to_string(lease_version);
    object["spec"]["holderIdentity"] = holder;
    object["spec"]["leaseDurationSeconds"] = 15;
    return object;
  }

  std::optional<Reply> Intercept(const std::string& line) {
    if (line.find(fails) != std::string::npos && fail_times-- > 0) {
      return fixtures::MapServer::Fail(fail_status, fail_status == 409 ? "Conflict" : "Because");
    }
    if (line.starts_with("GET ") && line.ends_with(unreadable)) {
      const Reply reply = server.Answer({.path = line.substr(line.find('/'))});
      json::Value object = *json::Parse(reply->body);
      object["metadata"].Erase("finalizers");
      std::string body = json::Serialize(object);
      body.insert(1, R"("spec":{"free":"\ud800"},)");
      return http::Response{.status = 200, .body = std::move(body)};
    }
    if (line == "GET /api/v1/namespaces/" + std::string(fixtures::kDriverNs)) {
      if (ns.empty()) return fixtures::MapServer::NotFound("namespaces", fixtures::kDriverNs);
      return fixtures::MapServer::Ok(*json::Parse(ns));
    }
    if (line.find("/leases/") != std::string::npos) {
      const bool exists =
          !lease.empty() && line.ends_with("/namespaces/" + lease_ns + "/leases/" + lease);
      return exists ? fixtures::MapServer::Ok(Lease())
                    : fixtures::MapServer::NotFound("leases", line.substr(line.rfind('/') + 1));
    }
    if (line.starts_with("GET /apis/coordination.k8s.io/v1/leases?")) {
      json::Value list;
      list["items"] = json::Value::Array({});
      const bool is_asked =
          (line + "&").find("=metadata.name%3D" + lease + "&") != std::string::npos;
      if (is_asked) list["items"].Append(Lease());
      return fixtures::MapServer::Ok(list);
    }
    if (line == "GET /apis") {
      return http::Response{.status = 200,
                            .body = R"({"kind":"APIGroupList","groups":[{"versions":[)"
                                    R"({"groupVersion":"resource.nvidia.com/v1beta1"},)"
                                    R"({"groupVersion":"resource.k8s.io/)" +
                                    served + R"("}]}]})"};
    }
    const std::string group = "GET /apis/resource.k8s.io/";
    if (line.starts_with(group) && line.find('/', group.size()) == std::string::npos) {
      if (line != group + served) return fixtures::MapServer::Fail(404, "NotFound");
    }
    return {};
  }
};

TEST(ReleaseFinalizers, EveryFinalizerOfOursGoesAndNothingElseIsTouched) {
  Cluster cluster(MadeByTheReference());
  ASSERT_TRUE(cluster.Release());
  EXPECT_EQ(cluster.Finalizers(Kind::kComputeDomain, {fixtures::kUserNs, "train"}), Lines());
  EXPECT_EQ(cluster.Finalizers(Kind::kDaemonSet, {fixtures::kDriverNs, fixtures::kDaemonName}),
            (Lines{"example.com/other"}));
  EXPECT_EQ(cluster.server.Count(Kind::kComputeDomain), 1U) << "it deletes nothing";
  EXPECT_EQ(cluster.server.Count(Kind::kClaimTemplate), 2U);
  EXPECT_EQ(cluster.said,
            (Lines{"released ComputeDomain team-a/train",
                   "released DaemonSet cdom-system/" + fixtures::kDaemonName,
                   "released ResourceClaimTemplate cdom-system/" + fixtures::kDaemonName,
                   "released ResourceClaimTemplate team-a/train-channel", "released 4, failed 0"}));
}

TEST(ReleaseFinalizers, SecondRunWritesNothing) {
  Cluster cluster(MadeByTheReference());
  ASSERT_TRUE(cluster.Release());
  cluster.server.ForgetLines();
  ASSERT_TRUE(cluster.Release());
  EXPECT_EQ(cluster.Patches(), 0);
  EXPECT_EQ(cluster.said, (Lines{"released 0, failed 0"}));
}

TEST(ReleaseFinalizers, DryRunSaysTheSameAndWritesNothing) {
  Cluster cluster(MadeByTheReference());
  ASSERT_TRUE(cluster.Release({.dry_run = true}));
  EXPECT_EQ(cluster.Patches(), 0);
  EXPECT_TRUE(cluster.HoldsAny());
  EXPECT_EQ(cluster.said.size(), 5U);
  EXPECT_EQ(cluster.said.back(), "would release 4, failed 0");
}

TEST(ReleaseFinalizers, ObjectThatIsBeingDeletedGoes) {
  Cluster cluster(fixtures::DeletingLast());
  ASSERT_TRUE(cluster.Release());
  EXPECT_EQ(cluster.server.Count(Kind::kComputeDomain), 0U);
}

TEST(ReleaseFinalizers, RefusesWhileTheHolderOfTheLeaseRenewsItAndSaysWhatToDo) {
  Cluster cluster(MadeByTheReference());
  cluster.holder = "controller-0";
  cluster.renews = true;
  const auto result = cluster.Release();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::ErrorCode::kConflict);
  EXPECT_NE(result.error().message.find("controller-0 holds the Lease"), std::string::npos);
  EXPECT_NE(result.error().message.find("--replicas=0"), std::string::npos);
  EXPECT_EQ(cluster.Patches(), 0);
  ASSERT_TRUE(cluster.Release({.force = true}));
  EXPECT_FALSE(cluster.HoldsAny());
}

void ExpectRefusal(const std::string& message, Cluster& cluster) {
  const auto result = cluster.Release();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
  EXPECT_EQ(cluster.Patches(), 0);
}

void ExpectRefusalUnderLeader(const std::string& message, Cluster& cluster) {
  cluster.holder = "controller-0";
  cluster.renews = true;
  ExpectRefusal(message, cluster);
}

TEST(ReleaseFinalizers, LeaderUnderAnotherKnownName_IsARefusal) {
  Cluster cluster(MadeByTheReference());
  cluster.lease = "nvidia-compute-domain-controller";
  ExpectRefusalUnderLeader("controller-0 holds the Lease cdom-system/nvidia-compute", cluster);
}

TEST(ReleaseFinalizers, NoLease_IsARefusal_ThatAsksForItsName) {
  for (const bool dry_run : {false, true}) {
    Cluster cluster(MadeByTheReference());
    cluster.lease.clear();
    const auto result = cluster.Release({.dry_run = dry_run});
    ASSERT_FALSE(result);
    EXPECT_EQ(
        result.error().message,
        "namespace cdom-system has no Lease of these names: cdom-controller, "
        "nvidia-compute-domain-controller. Which one does your controller use? Name it with "
        "--leader-election-lease-lock-name, and its namespace with --namespace. Use --force if "
        "no controller runs.");
    EXPECT_EQ(cluster.Patches(), 0);
    EXPECT_TRUE(cluster.Release({.force = true}));
  }
}

TEST(ReleaseFinalizers, NoLease_IsNoRefusal_OnceItsNamespaceIsDeleted) {
  for (const char* ns :
       {"", R"({"metadata":{"name":"cdom-system","deletionTimestamp":"2026-01-01T00:00:00Z"}})"}) {
    Cluster cluster(MadeByTheReference());
    cluster.lease.clear();
    cluster.ns = ns;
    ASSERT_TRUE(cluster.Release()) << ns;
    EXPECT_FALSE(cluster.HoldsAny());
    EXPECT_EQ(
        cluster.said.front(),
        "namespace cdom-system is being deleted or does not exist, and no controller leads in "
        "another one");
  }
}

TEST(ReleaseFinalizers, LeaderInAnotherNamespace_IsARefusal_IfTheNamespaceIsMisspelt) {
  Cluster cluster(MadeByTheReference());
  cluster.ns.clear();
  cluster.lease_ns = "elsewhere";
  ExpectRefusalUnderLeader("controller-0 holds the Lease elsewhere/cdom-controller", cluster);
  cluster.renews = false;
  EXPECT_TRUE(cluster.Release());
}

// Nothing is released if requests with this text are forbidden.
void ExpectRefusalWithout(const std::string& request, Cluster& cluster) {
  cluster.fails = request;
  cluster.fail_status = 403;
  cluster.fail_times = 100;
  ExpectRefusal("--force", cluster);
}

TEST(ReleaseFinalizers, NamespaceThatCannotBeRead_IsARefusal) {
  Cluster cluster(MadeByTheReference());
  cluster.lease.clear();
  ExpectRefusalWithout("GET /api/v1/namespaces/cdom-system", cluster);
}

TEST(ReleaseFinalizers, LeasesThatCannotBeListed_AreARefusal) {
  Cluster cluster(MadeByTheReference());
  cluster.lease.clear();
  cluster.ns.clear();
  ExpectRefusalWithout("/leases?", cluster);
}

TEST(ReleaseFinalizers, HolderThatDiedIsWaitedForAsLongAsItsLeaseLasts) {
  Cluster cluster(MadeByTheReference());
  cluster.holder = "controller-0";
  ASSERT_TRUE(cluster.Release());
  EXPECT_EQ(cluster.waited, seconds(15));
  EXPECT_FALSE(cluster.HoldsAny());
}

TEST(ReleaseFinalizers, LeaseThatCannotBeReadIsNoFreeLease) {
  Cluster cluster(MadeByTheReference());
  ExpectRefusalWithout("/leases/", cluster);
}

TEST(ReleaseFinalizers, WriteThatMetAChangeIsDecidedAgainFromWhatIsThere) {
  Cluster cluster(MadeByTheReference());
  cluster.fails = "PATCH";
  cluster.fail_status = 409;
  cluster.fail_times = 3;
  ASSERT_TRUE(cluster.Release());
  EXPECT_FALSE(cluster.HoldsAny());
}

TEST(ReleaseFinalizers, S1_ObjectThatATenantMadeUnreadableIsDecidedAgainAllTheSame) {
  Cluster cluster(MadeByTheReference());
  cluster.fails = "PATCH /apis/resource.k8s.io/v1/namespaces/team-a/";
  cluster.fail_status = 409;
  cluster.fail_times = 1;
  cluster.unreadable = "/resourceclaimtemplates/" + fixtures::kTemplateName;
  ASSERT_TRUE(cluster.Release());
  const auto patches = [&](const std::string& line) {
    return line.starts_with("PATCH ") && line.ends_with(cluster.unreadable);
  };
  EXPECT_EQ(std::ranges::count_if(cluster.server.lines(), patches), 1);
}

TEST(ReleaseFinalizers, WhatCannotBeReleasedIsNamedAndTheRestIsReleased) {
  Cluster cluster(MadeByTheReference());
  cluster.fails = "/daemonsets/";
  cluster.fail_status = 500;
  cluster.fail_times = 100;
  const auto result = cluster.Release();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("DaemonSet cdom-system/"), std::string::npos);
  EXPECT_EQ(cluster.said.back(), "released 3, failed 1");
  EXPECT_EQ(cluster.Finalizers(Kind::kClaimTemplate, {fixtures::kUserNs, fixtures::kTemplateName}),
            Lines());
  EXPECT_LE(cluster.waited, seconds(10));
}

TEST(ReleaseFinalizers, CollectionThatCannotBeListedIsAFailure) {
  for (const char* collection :
       {"/computedomains?", "/daemonsets?", "/resourceclaimtemplates?", "resource.k8s.io/v1"}) {
    SCOPED_TRACE(collection);
    Cluster cluster(MadeByTheReference());
    cluster.fails = collection;
    cluster.fail_status = 403;
    cluster.fail_times = 100;
    EXPECT_FALSE(cluster.Release());
  }
}

TEST(ReleaseFinalizers, TemplatesAreFoundInTheVersionThatIsServed) {
  Cluster cluster(MadeByTheReference());
  cluster.served = "v1beta1";
  ASSERT_TRUE(cluster.Release());
  const auto& lines = cluster.server.lines();
  EXPECT_EQ(std::ranges::count(lines,
                               "PATCH /apis/resource.k8s.io/v1beta1/namespaces/team-a/"
                               "resourceclaimtemplates/train-channel"),
            1);
  Cluster without(MadeByTheReference());
  without.served = "none";
  ASSERT_TRUE(without.Release()) << "what is not served has no objects";
  EXPECT_EQ(without.said.back(), "released 2, failed 0");
}

// A page of a proxy, or a server of another version in an upgrade of the control plane.
TEST(ReleaseFinalizers, REV4_K17_NotFoundForAListIsNoProofThatNothingIsLeft) {
  Cluster cluster(MadeByTheReference());
  cluster.fails = "GET /apis/resource.nvidia.com/v1beta1/computedomains";
  cluster.fail_status = 404;
  cluster.fail_times = 1;
  EXPECT_FALSE(cluster.Release());
  EXPECT_TRUE(cluster.HoldsAny());
  EXPECT_TRUE(std::ranges::any_of(cluster.said, [](const std::string& line) {
    return line.starts_with("FAILED ComputeDomains");
  }));
}

}  // namespace
}  // namespace uninstall
