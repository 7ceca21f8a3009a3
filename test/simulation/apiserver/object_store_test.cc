#include "test/simulation/apiserver/object_store.h"

#include <gtest/gtest.h>

#include <chrono>

#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/apiserver/patch.h"

namespace simulation {
namespace {

using json::Value;
using std::chrono::seconds;

const kube::ObjectKey kDomain = {.ns = "train", .name = "cd-1"};
const kube::ObjectKey kTemplate = {.ns = "train", .name = "channel"};
const kube::ObjectKey kNode = {.name = "node-0"};

class ObjectStoreTest : public testing::Test {
 protected:
  ObjectStoreTest() {
    store.SetTime(Time(std::chrono::hours(24 * 365 * 56)));
    store.Create("user", Kind::kNamespace, "", NamespaceObject("train"));
    store.Create("user", Kind::kNode, "", NodeObject("node-0", "boot-1"));
  }

  ObjectPtr CreateDomain() {
    return store
        .Create("user", Kind::kComputeDomain, "train", ComputeDomainObject("cd-1", "channel"))
        .object;
  }
  ObjectPtr CreateTemplate() {
    return store
        .Create("user", Kind::kClaimTemplate, "train",
                WorkloadTemplateObject("some-uid", "cd-1", "channel"))
        .object;
  }
  ObjectPtr CreatePod(const std::string& node) {
    Value pod = Value::Object({{"metadata", Value::Object({{"name", "pod-1"}})},
                               {"spec", Value::Object({{"nodeName", node}})}});
    return store.Create("user", Kind::kPod, "train", std::move(pod)).object;
  }
  Reply Merge(Kind kind, const kube::ObjectKey& key, const std::string& patch,
              Subresource subresource = Subresource::kNone) {
    return store.Patch("user", kind, key, PatchType::kMerge, *json::Parse(patch), subresource);
  }
  Reply PatchDomain(const std::string& patch, Subresource subresource = Subresource::kNone) {
    const ObjectPtr domain = store.Get(Kind::kComputeDomain, kDomain);
    return Merge(Kind::kComputeDomain, kDomain, patch, subresource);
  }
  std::int64_t Generation(Kind kind, const kube::ObjectKey& key) const {
    return store.Get(kind, key)->meta()["generation"].AsInt().value_or(0);
  }

  ObjectStore store;
};

TEST_F(ObjectStoreTest, CreateFillsInWhatTheServerGives) {
  const ObjectPtr domain = CreateDomain();
  EXPECT_EQ(domain->meta()["generation"].AsInt(), 1);
  EXPECT_EQ(domain->meta()["creationTimestamp"].AsString(), "2025-12-18T00:00:00Z");
  EXPECT_FALSE(domain->uid().empty());
  EXPECT_EQ(domain->key(), kDomain);
  EXPECT_EQ(At(domain->value(), {"spec", "channel", "allocationMode"}).AsString(), "Single");
}

TEST_F(ObjectStoreTest, WhatAdmissionObjectsToIsForbiddenAndLeavesNoTrace) {
  const ObjectPtr node = store.Get(Kind::kNode, kNode);
  std::string heard;
  store.Admit([&](const ObjectStore::Admission& write) {
    const auto label = [](const Value& object) {
      return object.IsNull() ? "none" : object["metadata"]["labels"]["a"].AsString();
    };
    heard = write.actor + " " + label(write.before) + " " + label(write.after);
    return write.actor == "thief" ? std::string("not you") : std::string();
  });
  const Value patch =
      Value::Object({{"metadata", Value::Object({{"labels", Value::Object({{"a", "b"}})}})}});
  const Reply refused = store.Patch("thief", Kind::kNode, kNode, PatchType::kMerge, patch);
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.status["message"].AsString(), "nodes \"node-0\" is forbidden: not you");
  EXPECT_EQ(heard, "thief  b");
  EXPECT_EQ(store.Delete("thief", Kind::kNode, kNode).code, 403);
  EXPECT_EQ(heard, "thief  none");
  EXPECT_EQ(store.Create("thief", Kind::kNode, "", NodeObject("node-1", "boot-1")).code, 403);
  EXPECT_EQ(heard, "thief none ");
  EXPECT_EQ(store.Get(Kind::kNode, kNode), node);
  EXPECT_TRUE(store.Patch("user", Kind::kNode, kNode, PatchType::kMerge, patch).ok());
}

TEST_F(ObjectStoreTest, CreateUnderATakenNameIsAlreadyExists) {
  CreateDomain();
  const Reply reply =
      store.Create("user", Kind::kComputeDomain, "train", ComputeDomainObject("cd-1", "other"));
  EXPECT_EQ(reply.code, 409);
  EXPECT_EQ(reply.status["reason"].AsString(), "AlreadyExists");
  EXPECT_EQ(reply.status["message"].AsString(),
            "computedomains.resource.nvidia.com \"cd-1\" already exists");
}

TEST_F(ObjectStoreTest, GeneratedNamesDiffer) {
  const Value pod = Value::Object({{"metadata", Value::Object({{"generateName", "a-"}})}});
  const ObjectPtr first = store.Create("user", Kind::kPod, "train", pod).object;
  const ObjectPtr second = store.Create("user", Kind::kPod, "train", pod).object;
  EXPECT_NE(first->key().name, second->key().name);
  EXPECT_EQ(first->key().name.size(), 7U);
}

TEST_F(ObjectStoreTest, CreateNeedsItsNamespaceToExistAndToStay) {
  EXPECT_EQ(store.Create("user", Kind::kPod, "nowhere", Value::Object()).code, 404);
  Value doomed = NamespaceObject("doomed");
  doomed["metadata"]["finalizers"] = Value::Array({"test/hold"});
  store.Create("user", Kind::kNamespace, "", doomed);
  store.Delete("user", Kind::kNamespace, {.name = "doomed"});
  const Reply reply =
      store.Create("user", Kind::kComputeDomain, "doomed", ComputeDomainObject("cd-1", "t"));
  EXPECT_EQ(reply.code, 403);
  EXPECT_EQ(reply.status["details"]["causes"].items().at(0)["reason"].AsString(),
            "NamespaceTerminating");
}

TEST_F(ObjectStoreTest, VersionsGrowOverAllKindsTogether) {
  const Revision before = store.revision();
  EXPECT_EQ(CreateDomain()->revision(), before + 1);
  EXPECT_EQ(CreateTemplate()->revision(), before + 2);
}

TEST_F(ObjectStoreTest, WriteThatChangesNothingIsNotAWrite) {
  CreateDomain();
  PatchDomain(R"({"metadata":{"labels":{"a":"b"}}})");
  const Revision before = store.revision();
  EXPECT_EQ(PatchDomain(R"({"metadata":{"labels":{"a":"b"}}})").code, 200);
  EXPECT_EQ(store.revision(), before);
}

TEST_F(ObjectStoreTest, StaleResourceVersionIsAConflict) {
  const ObjectPtr first = CreateDomain();
  PatchDomain(R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(store.Update("user", Kind::kComputeDomain, kDomain, first->value()).code, 409);
  const std::string stale = std::to_string(first->revision());
  const Reply patched =
      PatchDomain(R"({"metadata":{"resourceVersion":")" + stale + R"(","labels":{"a":"c"}}})");
  EXPECT_EQ(patched.code, 409);
  EXPECT_EQ(patched.status["reason"].AsString(), "Conflict");
}

TEST_F(ObjectStoreTest, CustomResourceNeedsAVersionToBeReplacedAndABuiltInDoesNot) {
  Value domain = CreateDomain()->value();
  domain["metadata"].Erase("resourceVersion");
  EXPECT_EQ(store.Update("user", Kind::kComputeDomain, kDomain, domain).code, 422);
  Value node = store.Get(Kind::kNode, kNode)->value();
  node["metadata"].Erase("resourceVersion");
  EXPECT_EQ(store.Update("user", Kind::kNode, kNode, node).code, 200);
}

TEST_F(ObjectStoreTest, ForeignUidIsAConflictInAPutAndInvalidInAPatch) {
  Value domain = CreateDomain()->value();
  domain["metadata"]["uid"] = "another";
  EXPECT_EQ(store.Update("user", Kind::kComputeDomain, kDomain, domain).code, 409);
  EXPECT_EQ(PatchDomain(R"({"metadata":{"uid":"another"}})").code, 422);
}

TEST_F(ObjectStoreTest, PatchOfACustomResourcesStatusIgnoresMetadataEvenTheUid) {
  CreateDomain();
  const Reply reply = PatchDomain(
      R"({"metadata":{"uid":"another","labels":{"a":"b"}},"status":{"status":"Ready"}})",
      Subresource::kStatus);
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.object->Label("a"), "");
  EXPECT_EQ(reply.object->value()["status"]["status"].AsString(), "Ready");
}

TEST_F(ObjectStoreTest, SpecOfADomainNeverChanges) {
  CreateDomain();
  EXPECT_EQ(PatchDomain(R"({"spec":{"numNodes":3}})").code, 422);
  EXPECT_EQ(PatchDomain(R"({"spec":null})").code, 422);
  EXPECT_EQ(Generation(Kind::kComputeDomain, kDomain), 1);
}

TEST_F(ObjectStoreTest, StatusIsWrittenThroughItsSubresourceAlone) {
  CreateDomain();
  const Revision before = store.revision();
  PatchDomain(R"({"status":{"status":"Ready"}})");
  EXPECT_EQ(store.revision(), before);
  EXPECT_EQ(PatchDomain(R"({"status":{"members":"0/0"}})", Subresource::kStatus).code, 200);
  const ObjectPtr domain = store.Get(Kind::kComputeDomain, kDomain);
  EXPECT_EQ((*domain)["status"]["status"].AsString(), "NotReady") << "the schema's default";
  EXPECT_EQ(Generation(Kind::kComputeDomain, kDomain), 1) << "status does not count";
}

TEST_F(ObjectStoreTest, TemplatesAndCliquesHaveNoStatusSubresource) {
  CreateTemplate();
  EXPECT_EQ(Merge(Kind::kClaimTemplate, kTemplate, "{}", Subresource::kStatus).code, 404);
}

TEST_F(ObjectStoreTest, SchemaPrunesAndRefuses) {
  CreateDomain();
  PatchDomain(R"({"status":{"status":"Ready","unknown":1}})", Subresource::kStatus);
  EXPECT_EQ((*store.Get(Kind::kComputeDomain, kDomain))["status"].Find("unknown"), nullptr);
  EXPECT_EQ(PatchDomain(R"({"status":{"status":"Maybe"}})", Subresource::kStatus).code, 422);
  const std::string twice = R"({"name":"n","ipAddress":"1.2.3.4","cliqueID":""})";
  EXPECT_EQ(
      PatchDomain(R"({"status":{"nodes":[)" + twice + "," + twice + "]}}", Subresource::kStatus)
          .code,
      422);
  EXPECT_EQ(PatchDomain(R"({"status":{"nodes":[{"name":"n"}]}})", Subresource::kStatus).code, 422);
}

TEST_F(ObjectStoreTest, TemplateNameMustBeOne) {
  for (const char* name : {"", "UPPER", "a..b", "a/b", "-a", "a-", "a.-b"}) {
    EXPECT_EQ(
        store.Create("user", Kind::kComputeDomain, "train", ComputeDomainObject("cd-1", name)).code,
        422)
        << name;
  }
  EXPECT_EQ(
      store.Create("user", Kind::kComputeDomain, "train", ComputeDomainObject("cd-1", "a-b.c9"))
          .code,
      201);
}

TEST_F(ObjectStoreTest, IndexOfACliqueHasFourDigits) {
  store.Create("user", Kind::kClique, "train",
               Value::Object({{"metadata", Value::Object({{"name", "u.c"}})}}));
  const kube::ObjectKey key = {.ns = "train", .name = "u.c"};
  const auto code = [&](const std::string& index) {
    return Merge(Kind::kClique, key,
                 R"({"daemons":[{"nodeName":"n","ipAddress":"","cliqueID":"c","index":)" + index +
                     "}]}")
        .code;
  };
  EXPECT_EQ(code("-1"), 200);
  EXPECT_EQ(code("9999"), 200);
  EXPECT_EQ(code("-2"), 422);
  EXPECT_EQ(code("10000"), 422);
}

TEST_F(ObjectStoreTest, ChangedCliqueIsANewGeneration) {
  Value clique = Value::Object({{"metadata", Value::Object({{"name", "u.c"}})}});
  store.Create("user", Kind::kClique, "train", clique);
  const kube::ObjectKey key = {.ns = "train", .name = "u.c"};
  Merge(Kind::kClique, key, R"({"daemons":[{"nodeName":"n","ipAddress":"","cliqueID":"c"}]})");
  EXPECT_EQ(Generation(Kind::kClique, key), 2);
  EXPECT_EQ((*store.Get(Kind::kClique, key))["daemons"].items().at(0)["status"].AsString(),
            "NotReady");
}

TEST_F(ObjectStoreTest, TemplateSpecAndDaemonSetSelectorNeverChange) {
  CreateTemplate();
  EXPECT_EQ(Merge(Kind::kClaimTemplate, kTemplate, R"({"spec":{"spec":null}})").code, 422);
  EXPECT_EQ(Merge(Kind::kClaimTemplate, kTemplate, R"({"metadata":{"labels":{"a":"b"}}})").code,
            200);
  store.Create("user", Kind::kDaemonSet, "train", DaemonSetObject("u", false));
  const kube::ObjectKey set = {.ns = "train", .name = DaemonName("u")};
  EXPECT_EQ(Merge(Kind::kDaemonSet, set, R"({"spec":{"selector":{"matchLabels":{"a":"b"}}}})").code,
            422);
  EXPECT_EQ(Merge(Kind::kDaemonSet, set, R"({"spec":{"minReadySeconds":1}})").code, 200);
  EXPECT_EQ(Generation(Kind::kDaemonSet, set), 2);
}

TEST_F(ObjectStoreTest, ServerFillsInDefaultsOfBuiltInKinds) {
  const ObjectPtr found = CreateTemplate();
  const Value& request =
      At(found->value(), {"spec", "spec", "devices", "requests"}).items().at(0)["exactly"];
  EXPECT_EQ(request["allocationMode"].AsString(), "ExactCount");
  EXPECT_EQ(request["count"].AsInt(), 1);
}

TEST_F(ObjectStoreTest, DeleteWithoutFinalizersRemovesAtOnce) {
  CreateTemplate();
  EXPECT_EQ(store.Delete("user", Kind::kClaimTemplate, kTemplate).code, 200);
  EXPECT_EQ(store.Get(Kind::kClaimTemplate, kTemplate), nullptr);
  EXPECT_EQ(store.Delete("user", Kind::kClaimTemplate, kTemplate).code, 404);
}

TEST_F(ObjectStoreTest, DeleteOfAnotherIncarnationIsAConflict) {
  CreateTemplate();
  const Reply reply = store.Delete("user", Kind::kClaimTemplate, kTemplate, {.uid = "another"});
  EXPECT_EQ(reply.code, 409);
  EXPECT_NE(store.Get(Kind::kClaimTemplate, kTemplate), nullptr);
}

TEST_F(ObjectStoreTest, FinalizerHoldsADeletedObjectUntilItIsTakenOff) {
  CreateDomain();
  PatchDomain(R"({"metadata":{"finalizers":["a/ours","b/foreign"]}})");
  store.Delete("user", Kind::kComputeDomain, kDomain);
  const ObjectPtr deleting = store.Get(Kind::kComputeDomain, kDomain);
  ASSERT_NE(deleting, nullptr);
  EXPECT_TRUE(deleting->deleting());
  EXPECT_EQ(Generation(Kind::kComputeDomain, kDomain), 2) << "a deletion is a new generation";

  const Revision before = store.revision();
  EXPECT_EQ(store.Delete("user", Kind::kComputeDomain, kDomain).code, 200);
  EXPECT_EQ(store.revision(), before) << "deleted already";

  PatchDomain(R"({"metadata":{"finalizers":["b/foreign"]}})");
  EXPECT_NE(store.Get(Kind::kComputeDomain, kDomain), nullptr);
  PatchDomain(R"({"metadata":{"finalizers":[]}})");
  EXPECT_EQ(store.Get(Kind::kComputeDomain, kDomain), nullptr);
}

TEST_F(ObjectStoreTest, FinalizerCannotBeAddedToADeletingObject) {
  CreateDomain();
  PatchDomain(R"({"metadata":{"finalizers":["a/ours"]}})");
  store.Delete("user", Kind::kComputeDomain, kDomain);
  const Reply reply = PatchDomain(R"({"metadata":{"finalizers":["a/ours","c/new"]}})");
  EXPECT_EQ(reply.code, 422);
}

TEST_F(ObjectStoreTest, DeletionTimestampCannotBeTakenBack) {
  CreateDomain();
  PatchDomain(R"({"metadata":{"finalizers":["a/ours"]}})");
  store.Delete("user", Kind::kComputeDomain, kDomain);
  PatchDomain(R"({"metadata":{"deletionTimestamp":null}})");
  EXPECT_TRUE(store.Get(Kind::kComputeDomain, kDomain)->deleting());
}

TEST_F(ObjectStoreTest, RunningPodEndsGracefullyAndGraceZeroRemovesIt) {
  CreatePod("node-0");
  const kube::ObjectKey key = {.ns = "train", .name = "pod-1"};
  store.Delete("user", Kind::kPod, key);
  const ObjectPtr pod = store.Get(Kind::kPod, key);
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->meta()["deletionGracePeriodSeconds"].AsInt(), 30);
  const Revision before = store.revision();
  store.Delete("user", Kind::kPod, key, {.grace = 60});
  EXPECT_EQ(store.revision(), before) << "a grace is never made longer";
  store.Delete("kubelet", Kind::kPod, key, {.uid = pod->uid(), .grace = 0});
  EXPECT_EQ(store.Get(Kind::kPod, key), nullptr);
}

TEST_F(ObjectStoreTest, PodThatNeverRanGoesAtOnce) {
  CreatePod("");
  store.Delete("user", Kind::kPod, {.ns = "train", .name = "pod-1"});
  EXPECT_EQ(store.Get(Kind::kPod, {.ns = "train", .name = "pod-1"}), nullptr);
}

TEST_F(ObjectStoreTest, ForegroundDeletionWaitsForTheGarbageCollector) {
  CreateTemplate();
  store.Delete("user", Kind::kClaimTemplate, kTemplate, {.propagation = "Foreground"});
  ASSERT_NE(store.Get(Kind::kClaimTemplate, kTemplate), nullptr);
  EXPECT_TRUE(store.Get(Kind::kClaimTemplate, kTemplate)->HasFinalizer("foregroundDeletion"));
}

TEST_F(ObjectStoreTest, JsonPatchWhoseTestFailsIsInvalidAndChangesNothing) {
  const Value patch = *json::Parse(
      R"([{"op":"test","path":"/metadata/labels/kubernetes.io~1hostname","value":"other"},)"
      R"({"op":"remove","path":"/metadata/labels/kubernetes.io~1hostname"}])");
  const Revision before = store.revision();
  const Reply reply = store.Patch("user", Kind::kNode, kNode, PatchType::kJson, patch);
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.status["reason"].AsString(), "Invalid");
  EXPECT_EQ(store.revision(), before);
}

TEST_F(ObjectStoreTest, LeaseIsMadeByItsFirstPut) {
  const Value lease = Value::Object({{"metadata", Value::Object({{"name", "l"}})}});
  const kube::ObjectKey key = {.ns = "train", .name = "l"};
  EXPECT_EQ(store.Update("user", Kind::kLease, key, lease).code, 201);
  EXPECT_EQ(store.Update("user", Kind::kLease, key, lease).code, 422) << "no version";
}

TEST_F(ObjectStoreTest, LabelsAndOwnersAreValidated) {
  CreateTemplate();
  EXPECT_EQ(Merge(Kind::kClaimTemplate, kTemplate, R"({"metadata":{"labels":{"a":"b/c"}}})").code,
            422);
  EXPECT_EQ(Merge(Kind::kClaimTemplate, kTemplate,
                  R"({"metadata":{"ownerReferences":[{"kind":"Pod","name":"p"}]}})")
                .code,
            422);
}

// The same rows are held to a real API server by test/e2e/test_known_fields.py.
TEST_F(ObjectStoreTest, AnnotationsAreRefusedByTheirKeysAndSize) {
  CreateTemplate();
  CreateDomain();
  const auto code = [&](Kind kind, const std::string& key, std::size_t size) {
    Value patch;
    patch["metadata"]["annotations"][key] = std::string(size, 'x');
    return Merge(kind, kind == Kind::kComputeDomain ? kDomain : kTemplate, json::Serialize(patch))
        .code;
  };
  for (const Kind kind : {Kind::kClaimTemplate, Kind::kComputeDomain}) {
    for (const std::string& key :
         {std::string("held indices"), std::string("a/b/c"), std::string("cdom_dev/x"),
          std::string("/x"), std::string(64, 'x')}) {
      EXPECT_EQ(code(kind, key, 1), 422) << key;
    }
    EXPECT_EQ(code(kind, "example/x", 262144 - 8), 422);
    EXPECT_EQ(code(kind, "Cdom.dev/x", 1), 200);
    EXPECT_EQ(code(kind, "Cdom.dev/x", 0), 200);
    Merge(kind, kind == Kind::kComputeDomain ? kDomain : kTemplate,
          R"({"metadata":{"annotations":null}})");
    EXPECT_EQ(code(kind, "example/x", 262144 - 9), 200);
  }
}

TEST_F(ObjectStoreTest, UnknownFieldsOfBuiltInKindsAreDroppedAndAreNoNewGeneration) {
  Value set = DaemonSetObject("u", false);
  set["spec"]["minReadySecond"] = 1;
  set["spec"]["template"]["spec"]["containers"].MutableItems().front()["imagePullPolcy"] = "Never";
  store.Create("user", Kind::kDaemonSet, "train", set);
  const kube::ObjectKey key = {.ns = "train", .name = DaemonName("u")};
  const ObjectPtr made = store.Get(Kind::kDaemonSet, key);
  EXPECT_EQ((*made)["spec"].Find("minReadySecond"), nullptr);
  const Value& container =
      At(made->value(), {"spec", "template", "spec", "containers"}).items().front();
  EXPECT_EQ(container.Find("imagePullPolcy"), nullptr);
  EXPECT_EQ(At(made->value(), {"spec", "selector", "matchLabels"}),
            At(set, {"spec", "selector", "matchLabels"}));
  EXPECT_EQ(Merge(Kind::kDaemonSet, key, R"({"spec":{"minReadySecond":2}})").code, 200);
  EXPECT_EQ(Generation(Kind::kDaemonSet, key), 1);
  // A Lease has no status, and of a ResourceSlice the names of attributes are the driver's.
  store.Create(
      "user", Kind::kLease, "train",
      *json::Parse(R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"a"},"status":{"a":1}})"));
  EXPECT_EQ(store.Get(Kind::kLease, {.ns = "train", .name = "l"})->value().Find("status"), nullptr);
  store.Create("user", Kind::kSlice, "",
               *json::Parse(R"({"metadata":{"name":"s"},"spec":{"driver":"d",
      "devices":[{"name":"c","attributes":{"id":{"int":1,"integer":2}}}]}})"));
  EXPECT_EQ(
      json::Serialize(At(store.Get(Kind::kSlice, {.name = "s"})->value(), {"spec", "devices"})),
      R"([{"name":"c","attributes":{"id":{"int":1}}}])");
}

TEST_F(ObjectStoreTest, KindThatIsNotServedIsNotFound) {
  store.SetServed(Kind::kClaimTemplate, false);
  EXPECT_EQ(store.Create("user", Kind::kClaimTemplate, "train", Value::Object()).code, 404);
}

TEST_F(ObjectStoreTest, HistoryShowsEveryEarlierState) {
  const Revision start = store.revision();
  CreateTemplate();
  const Revision created = store.revision();
  store.Delete("user", Kind::kClaimTemplate, kTemplate);
  EXPECT_TRUE(store.history().StateAt(Kind::kClaimTemplate, start).empty());
  EXPECT_EQ(store.history().StateAt(Kind::kClaimTemplate, created).size(), 1U);
  EXPECT_TRUE(
      store.history().StateAt(Kind::kClaimTemplate, kTemplate.name.size() + created).empty());
  const Change& last = store.history().changes().back();
  EXPECT_EQ(last.type, Change::Type::kDeleted);
  EXPECT_EQ(last.revision(), created + 1);
  EXPECT_EQ(last.actor, "user");
}

TEST(JsonPatch, DoesWhatEachOperationSays) {
  const Value document = *json::Parse(R"({"a":[1,2],"b":{"c/d":"x"}})");
  const auto apply = [&](const char* patch) {
    const auto patched = JsonPatch(document, *json::Parse(patch));
    return patched ? json::Serialize(*patched) : "refused";
  };
  EXPECT_EQ(apply(R"([{"op":"add","path":"/a/-","value":3}])"), R"({"a":[1,2,3],"b":{"c/d":"x"}})");
  EXPECT_EQ(apply(R"([{"op":"add","path":"/a/0","value":0}])"), R"({"a":[0,1,2],"b":{"c/d":"x"}})");
  EXPECT_EQ(apply(R"([{"op":"remove","path":"/b/c~1d"}])"), R"({"a":[1,2],"b":{}})");
  EXPECT_EQ(apply(R"([{"op":"replace","path":"/a/1","value":9}])"),
            R"({"a":[1,9],"b":{"c/d":"x"}})");
  EXPECT_EQ(apply(R"([{"op":"move","from":"/a/0","path":"/b/e"}])"),
            R"({"a":[2],"b":{"c/d":"x","e":1}})");
  EXPECT_EQ(apply(R"([{"op":"test","path":"/b","value":{"c/d":"x"}}])"),
            R"({"a":[1,2],"b":{"c/d":"x"}})");
}

TEST(JsonPatch, RefusesWhatIsNotThere) {
  const Value document = *json::Parse(R"({"a":[1]})");
  for (const char* patch :
       {R"([{"op":"remove","path":"/b"}])", R"([{"op":"replace","path":"/b","value":1}])",
        R"([{"op":"add","path":"/b/c","value":1}])", R"([{"op":"add","path":"/a/2","value":1}])",
        R"([{"op":"test","path":"/a/0","value":2}])", R"([{"op":"wish","path":"/a"}])", "{}",
        R"([{"op":"remove","path":"a"}])", R"([{"op":"remove","path":"/a/-"}])"}) {
    EXPECT_FALSE(JsonPatch(document, *json::Parse(patch)).has_value()) << patch;
  }
}

TEST(MergePatch, NullRemovesAndObjectsAreMerged) {
  const Value merged = MergePatch(*json::Parse(R"({"a":{"b":1,"c":2},"d":[1]})"),
                                  *json::Parse(R"({"a":{"b":null,"e":3},"d":{"f":1}})"));
  EXPECT_EQ(json::Serialize(merged), R"({"a":{"c":2,"e":3},"d":{"f":1}})");
}

}  // namespace
}  // namespace simulation
