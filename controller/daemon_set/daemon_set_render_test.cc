#include <gtest/gtest.h>

#include "controller/daemon_set/render.h"

namespace daemon_set {
namespace {

DaemonSetSettings MakeSettings() {
  return {.ns = "cdom-system",
          .image = "registry.example/cdom:1",
          .nodes_per_imex_domain_max = 18,
          .log_verbosity = 2};
}

json::Value Json(const char* text) {
  const base::Result<json::Value> parsed = json::Parse(text);
  EXPECT_TRUE(parsed);
  return parsed ? *parsed : json::Value();
}

const json::Value& PodTemplate(const json::Value& daemon_set) {
  return daemon_set["spec"]["template"];
}

// Whole, so that whatever changes is seen here: the daemon, the kubelet plugin and the probes rely
// on each line of it (contract 3.3, 4.1, 4.9).
TEST(RenderDaemonSet, B51_B53_B54_IsThatOfTheContract) {
  EXPECT_EQ(Render("uid-1", MakeSettings()), Json(R"json({
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {
      "name": "computedomain-daemon-uid-1",
      "namespace": "cdom-system",
      "labels": {"resource.nvidia.com/computeDomain": "uid-1"}
    },
    "spec": {
      "selector": {"matchLabels": {"resource.nvidia.com/computeDomain": "uid-1"}},
      "updateStrategy": {"type": "OnDelete"},
      "template": {
        "metadata": {"labels": {"resource.nvidia.com/computeDomain": "uid-1"}},
        "spec": {
          "serviceAccountName": "compute-domain-daemon-service-account",
          "nodeSelector": {"resource.nvidia.com/computeDomain": "uid-1"},
          "containers": [{
            "name": "compute-domain-daemon",
            "image": "registry.example/cdom:1",
            "command": ["compute-domain-daemon", "-v", "$(LOG_VERBOSITY)", "run"],
            "env": [
              {"name": "MAX_NODES_PER_IMEX_DOMAIN", "value": "18"},
              {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
              {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
              {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
              {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
              {"name": "POD_NAMESPACE",
               "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
              {"name": "LOG_VERBOSITY", "value": "2"},
              {"name": "FEATURE_GATES",
               "value": "ComputeDomainCliques=true,IMEXDaemonsWithDNSNames=true"},
              {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
            ],
            "startupProbe": {
              "exec": {"command": ["compute-domain-daemon", "-v", "$(LOG_VERBOSITY)", "check"]},
              "periodSeconds": 1, "failureThreshold": 1200, "timeoutSeconds": 10
            },
            "livenessProbe": {
              "exec": {"command": ["compute-domain-daemon", "-v", "$(LOG_VERBOSITY)", "check"]},
              "periodSeconds": 60, "failureThreshold": 20, "timeoutSeconds": 10
            },
            "readinessProbe": {
              "exec": {"command": ["compute-domain-daemon", "-v", "$(LOG_VERBOSITY)", "check"]},
              "periodSeconds": 10, "failureThreshold": 1, "timeoutSeconds": 10
            },
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {"claims": [{"name": "compute-domain-daemon"}]}
          }],
          "resourceClaims": [{
            "name": "compute-domain-daemon",
            "resourceClaimTemplateName": "computedomain-daemon-uid-1"
          }],
          "priorityClassName": "system-node-critical",
          "tolerations": [
            {"operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists", "effect": "NoExecute"},
            {"operator": "Exists", "effect": "PreferNoSchedule"}
          ],
          "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]}
        }
      }
    }
  })json"));
}

TEST(RenderDaemonSet, B52_PullSecretsAreNamedIfThereAreAny) {
  DaemonSetSettings settings = MakeSettings();
  settings.pull_secrets = {"a", "b"};
  EXPECT_EQ(PodTemplate(Render("uid-1", settings))["spec"]["imagePullSecrets"],
            Json(R"([{"name": "a"}, {"name": "b"}])"));
}

TEST(RenderDaemonSet, MarkerIsOnThePodsAloneWhereTheControllerWritesTheirEntries) {
  DaemonSetSettings settings = MakeSettings();
  settings.controller_writes = true;
  const json::Value rendered = Render("uid-1", settings);
  EXPECT_EQ(PodTemplate(rendered)["metadata"]["labels"],
            Json(R"({"resource.nvidia.com/computeDomain": "uid-1",
                     "cdom.dev/membership-writer": "controller"})"));
  EXPECT_EQ(rendered["spec"]["selector"], Render("uid-1", MakeSettings())["spec"]["selector"]);
  EXPECT_EQ(rendered["metadata"], Render("uid-1", MakeSettings())["metadata"]);
}

TEST(RenderDaemonSet, REV4_Y1_NamesOfTheDomainAreRecordedOnThePodsAndGivenToTheDaemon) {
  const json::Value rendered = Render("uid-1", MakeSettings(), NodeNames::kOfDomain);
  EXPECT_EQ(PodTemplate(rendered)["metadata"]["annotations"],
            Json(R"({"cdom.dev/imex-node-names": "domain"})"));
  const json::Value& env = PodTemplate(rendered)["spec"]["containers"].items()[0]["env"];
  EXPECT_EQ(env.items().back(), Json(R"({"name": "IMEX_NODE_NAMES", "value": "domain"})"));
}

TEST(RenderDaemonSet, ReadinessOfDaemonsOfOursIsNotHeldUpByAStartupProbe) {
  DaemonSetSettings settings = MakeSettings();
  settings.controller_writes = true;
  const json::Value rendered = Render("uid-1", settings);
  const json::Value& container = PodTemplate(rendered)["spec"]["containers"].items()[0];
  EXPECT_TRUE(container["startupProbe"].IsNull());
  EXPECT_EQ(container["readinessProbe"]["periodSeconds"].AsInt(), 10);
  EXPECT_EQ(container["livenessProbe"]["failureThreshold"].AsInt(), 20);
}

json::Value SecurityContext(const DaemonSetSettings& settings) {
  return PodTemplate(Render("uid-1", settings))["spec"]["containers"].items()[0]["securityContext"];
}

TEST(RenderDaemonSet, REV3_X14_CdomsDaemon_HasNoCapability) {
  DaemonSetSettings settings = MakeSettings();
  settings.controller_writes = true;
  EXPECT_EQ(SecurityContext(settings), Json(R"({
    "allowPrivilegeEscalation": false,
    "readOnlyRootFilesystem": true,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"}
  })"));
}

TEST(RenderDaemonSet, REV3_X14_ReadOnlyDaemon_HasScratchFolders) {
  DaemonSetSettings settings = MakeSettings();
  settings.controller_writes = true;
  settings.keys_secret = "cdom-imex-keys";
  const json::Value rendered = Render("uid-1", settings);
  const json::Value& spec = PodTemplate(rendered)["spec"];
  const json::Value& container = spec["containers"].items()[0];
  EXPECT_EQ(spec["volumes"],
            Json(R"([{"name": "imex-keys", "secret": {"secretName": "cdom-imex-keys"}},
                     {"name": "scratch", "emptyDir": {}}])"));
  EXPECT_EQ(container["volumeMounts"], Json(R"([
    {"name": "imex-keys", "mountPath": "/imex-keys", "readOnly": true},
    {"name": "scratch", "mountPath": "/run", "subPath": "run"},
    {"name": "scratch", "mountPath": "/tmp", "subPath": "tmp"},
    {"name": "scratch", "mountPath": "/var/log", "subPath": "log"}
  ])"));
  EXPECT_EQ(container["env"].items().back(),
            Json(R"({"name": "SCRATCH_FOLDERS", "value": "/run,/tmp,/var/log"})"));

  settings.security_context = Json(R"({"readOnlyRootFilesystem": false})");
  settings.keys_secret.clear();
  const json::Value writable = Render("uid-1", settings);
  EXPECT_TRUE(PodTemplate(writable)["spec"]["volumes"].IsNull());
}

TEST(RenderDaemonSet, REV3_X14_NvidiasDaemon_KeepsWhatItHas) {
  EXPECT_TRUE(SecurityContext(MakeSettings()).IsNull());
}

TEST(RenderDaemonSet, REV3_X14_SecurityContextOfConfiguration_IsKeptByField) {
  DaemonSetSettings settings = MakeSettings();
  settings.controller_writes = true;
  settings.security_context = Json(R"({
    "runAsUser": 0, "allowPrivilegeEscalation": true, "readOnlyRootFilesystem": false,
    "capabilities": {"add": ["CHOWN"], "drop": []}, "seccompProfile": {"type": "Unconfined"}
  })");
  EXPECT_EQ(SecurityContext(settings), settings.security_context);
  settings.security_context = Json(R"({"capabilities": {"add": ["CHOWN"]}})");
  EXPECT_EQ(SecurityContext(settings), Json(R"({
    "capabilities": {"add": ["CHOWN"], "drop": ["ALL"]},
    "allowPrivilegeEscalation": false,
    "readOnlyRootFilesystem": true,
    "seccompProfile": {"type": "RuntimeDefault"}
  })"));
}

// Kubernetes refuses `privileged` and this capability beside allowPrivilegeEscalation: false.
TEST(RenderDaemonSet, REV3_X14_PrivilegedDaemon_IsOneThatKubernetesTakes) {
  DaemonSetSettings settings = MakeSettings();
  settings.controller_writes = true;
  for (const char* text :
       {R"({"privileged": true})", R"({"capabilities": {"add": ["CAP_SYS_ADMIN"]}})"}) {
    settings.security_context = Json(text);
    EXPECT_TRUE(SecurityContext(settings)["allowPrivilegeEscalation"].IsNull()) << text;
  }
}

TEST(RenderDaemonSet, LimitAndVerbosityAreTheOnesThatWereSet) {
  DaemonSetSettings settings = MakeSettings();
  settings.nodes_per_imex_domain_max = 36;
  settings.log_verbosity = 6;
  const json::Value rendered = Render("uid-1", settings);
  const auto& env = PodTemplate(rendered)["spec"]["containers"].items()[0]["env"].items();
  EXPECT_EQ(env[0]["value"].AsString(), "36");
  EXPECT_EQ(env[6]["value"].AsString(), "6");
}

}  // namespace
}  // namespace daemon_set
