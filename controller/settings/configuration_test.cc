#include "controller/settings/configuration.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "controller/settings/table.h"
#include "test/fixtures/page_rows.h"

namespace settings {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kHead = "apiVersion: cdom.dev/v1alpha1\nkind: ControllerConfiguration\n";

Settings Accepted(const std::string& rest) {
  Settings settings;
  const auto read = ReadConfiguration(kHead + rest, "config.yaml", settings);
  EXPECT_TRUE(read) << read.error().message;
  return settings;
}

// The error that the text gives; "" for none.
std::string Refusal(const std::string& text) {
  Settings settings;
  const auto read = ReadConfiguration(text, "config.yaml", settings);
  return read ? "" : read.error().message;
}
std::string RefusalOf(const std::string& rest) { return Refusal(kHead + rest); }

json::Value Rendered(const Settings& settings) {
  daemon_set::DaemonSetSettings daemons = settings.rules.daemons;
  daemons.ns = "cdom-system";
  daemons.image = "registry.example/cdom:1";
  daemons.pull_secrets = settings.pull_secrets;
  return daemon_set::Render("uid-1", daemons);
}

json::Value Json(const char* text) {
  const base::Result<json::Value> parsed = json::Parse(text);
  EXPECT_TRUE(parsed);
  return parsed ? *parsed : json::Value();
}

constexpr const char* kEverything = R"yaml(
daemons:
  priorityClassName: gpu-critical
  resources:
    requests: {cpu: 100m, memory: 256Mi}
    limits: {memory: 1Gi}
  imagePullPolicy: Always
  imagePullSecrets: [one, two]
  tolerations:
  - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
  - {key: maintenance, value: soon, effect: NoExecute, tolerationSeconds: 60}
  dnsConfig:
    nameservers: [10.0.0.10]
    searches: [example.com]
    options: [{name: ndots, value: 2}]
  securityContext:
    runAsUser: 0
    runAsGroup: 0
    runAsNonRoot: false
    privileged: false
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {add: [NET_BIND_SERVICE], drop: [ALL]}
    seccompProfile: {type: Localhost, localhostProfile: imex.json}
  seLinuxOptions: {user: system_u, role: system_r, type: container_t, level: s0}
  schedulerName: kai-scheduler
  nodeSelector: {nvidia.com/gpu.present: "true"}
  imex:
    nodeDisconnectedGraceTime: 300
    authEncryption: true
    authSecret: imex-keys
deletion: {grace: 90s}
membership: {indexHold: 1m30s}
nodes: {leavingTaints: [example.com/spot, example.org/*]}
status: {window: 1s, nameOthers: Always}
)yaml";

// Whole, so that whatever is lost on the way from the file to the pods is seen here.
TEST(Configuration, P11_B52_B54_B61_B63_X3_FullyConfiguredDaemonSetHasEveryField) {
  const json::Value rendered = Rendered(Accepted(kEverything));
  json::Value spec = rendered["spec"]["template"]["spec"];
  json::Value container = spec["containers"].items().at(0);
  spec.Erase("containers");
  EXPECT_EQ(spec, Json(R"json({
    "serviceAccountName": "compute-domain-daemon-service-account",
    "nodeSelector": {"resource.nvidia.com/computeDomain": "uid-1",
                     "nvidia.com/gpu.present": "true"},
    "resourceClaims": [{"name": "compute-domain-daemon",
                        "resourceClaimTemplateName": "computedomain-daemon-uid-1"}],
    "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
    "priorityClassName": "gpu-critical",
    "tolerations": [
      {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
      {"key": "maintenance", "value": "soon", "effect": "NoExecute", "tolerationSeconds": 60}
    ],
    "dnsConfig": {"nameservers": ["10.0.0.10"], "searches": ["example.com"],
                  "options": [{"name": "ndots", "value": "2"}]},
    "schedulerName": "kai-scheduler",
    "volumes": [{"name": "imex-keys", "secret": {"secretName": "imex-keys"}}]
  })json"));
  EXPECT_EQ(container["volumeMounts"],
            Json(R"([{"name": "imex-keys", "mountPath": "/imex-keys", "readOnly": true}])"));
  const json::Value& env = container["env"];
  EXPECT_EQ(env.items().at(env.items().size() - 2),
            Json(R"({"name": "IMEX_NODE_DISCONNECTED_GRACE_TIME", "value": "300"})"));
  EXPECT_EQ(env.items().back(), Json(R"({"name": "IMEX_ENABLE_AUTH_ENCRYPTION", "value": "1"})"));
  EXPECT_EQ(container["imagePullPolicy"].AsString(), "Always");
  EXPECT_EQ(container["resources"], Json(R"json({
    "claims": [{"name": "compute-domain-daemon"}],
    "requests": {"cpu": "100m", "memory": "256Mi"},
    "limits": {"memory": "1Gi"}
  })json"));
  EXPECT_EQ(container["securityContext"], Json(R"json({
    "runAsUser": 0, "runAsGroup": 0, "runAsNonRoot": false, "privileged": false,
    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
    "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
    "seccompProfile": {"type": "Localhost", "localhostProfile": "imex.json"},
    "seLinuxOptions": {"user": "system_u", "role": "system_r", "type": "container_t", "level": "s0"}
  })json"));
}

TEST(Configuration, TimesAreTaken) {
  const Settings settings = Accepted(kEverything);
  EXPECT_EQ(settings.rules.deletion_grace, seconds(90));
  EXPECT_EQ(settings.rules.index_hold, seconds(90));
  EXPECT_EQ(settings.rules.status_window, milliseconds(1000));
}

TEST(Configuration, FileThatSetsNothingChangesNothing) {
  const json::Value rendered = Rendered(Settings());
  EXPECT_EQ(Rendered(Accepted("")), rendered);
  EXPECT_EQ(Rendered(Accepted("daemons:\n")), rendered);
  EXPECT_EQ(Accepted("").rules.deletion_grace, seconds(600));
  EXPECT_EQ(Accepted("").rules.status_window, milliseconds(500));
}

// What the page says of a default, written out, is the default.
TEST(Configuration, DefaultThatIsWrittenOutChangesNothing) {
  const Settings settings = Accepted(R"yaml(
daemons:
  priorityClassName: system-node-critical
  dnsConfig: {options: [{name: ndots, value: "1"}]}
  tolerations:
  - {operator: Exists, effect: NoSchedule}
  - {operator: Exists, effect: NoExecute}
  - {operator: Exists, effect: PreferNoSchedule}
deletion: {grace: 10m}
membership: {indexHold: 60s}
nodes:
  leavingTaints:
  - ToBeDeletedByClusterAutoscaler
  - karpenter.sh/disrupted
  - cloud.google.com/impending-node-termination
  - aws-node-termination-handler/*
  - node.kubernetes.io/out-of-service
status: {window: 500ms, nameOthers: SameNamespace}
)yaml");
  EXPECT_EQ(Rendered(settings), Rendered(Settings()));
  EXPECT_EQ(settings.rules.deletion_grace, Settings().rules.deletion_grace);
  EXPECT_EQ(settings.rules.index_hold, Settings().rules.index_hold);
  EXPECT_EQ(settings.rules.status_window, Settings().rules.status_window);
  EXPECT_EQ(settings.rules.names_others, Settings().rules.names_others);
  EXPECT_EQ(settings.rules.leaving_taints, Settings().rules.leaving_taints);
}

TEST(Configuration, G11_TaintsOfNodesThatGoAreTheListsAloneIfThereIsOne) {
  using Taints = std::vector<std::string>;
  EXPECT_EQ(Accepted(kEverything).rules.leaving_taints,
            (Taints{"example.com/spot", "example.org/*"}));
  EXPECT_EQ(Accepted("nodes: {leavingTaints: []}\n").rules.leaving_taints, Taints());
  EXPECT_EQ(Accepted("nodes: {}\n").rules.leaving_taints, Settings().rules.leaving_taints);
}

TEST(Configuration, G11_TaintThatNoNodeCouldTellByIsRefused) {
  for (const char* bad :
       {"''", "'*'", "'spot*'", "/spot", "example.com/", "Example.com/spot", "'example.com/spot*'",
        "a/b/c", "node.kubernetes.io/unreachable", "node.kubernetes.io/*", "'a b'"}) {
    EXPECT_EQ(RefusalOf(std::string("nodes: {leavingTaints: [spot, ") + bad + "]}\n"),
              "config.yaml: nodes.leavingTaints: write keys of taints, such as example.com/spot or "
              "example.com/*, and of node.kubernetes.io none but out-of-service")
        << bad;
  }
}

TEST(Configuration, G3_OthersAreNamedOnlyIfTheFileSaysSo) {
  EXPECT_FALSE(Accepted("").rules.names_others);
  EXPECT_FALSE(Accepted("status: {nameOthers: SameNamespace}\n").rules.names_others);
  EXPECT_TRUE(Accepted("status: {nameOthers: Always}\n").rules.names_others);
}

TEST(Configuration, WhatIsEmptyOnPurposeIsNotTheDefault) {
  const Settings settings = Accepted("daemons: {priorityClassName: '', tolerations: []}\n");
  const json::Value rendered = Rendered(settings);
  const json::Value& spec = rendered["spec"]["template"]["spec"];
  EXPECT_EQ(spec.Find("priorityClassName"), nullptr);
  EXPECT_TRUE(spec["tolerations"].items().empty());
}

TEST(Configuration, ErrorNamesFileLineFieldAndFix) {
  struct Row {
    std::string text;
    std::string error;
  };
  const std::vector<Row> rows = {
      {"daemons:\n  imagePullPolicy: Sometimes\n",
       "config.yaml:4: daemons.imagePullPolicy: write one of Always|IfNotPresent|Never"},
      {"daemons:\n  priorityClasName: x\n",
       "config.yaml:4: daemons.priorityClasName: unknown field; did you mean priorityClassName?"},
      {"deletion: {pods: 1}\n", "config.yaml:3: deletion.pods: unknown field; use one of grace"},
      {"deamons: {}\n", "config.yaml:3: deamons: unknown field; did you mean daemons?"},
      {"daemons:\n  tolerations:\n  - key: a\n  - opertor: Exists\n",
       "config.yaml:6: daemons.tolerations[1].opertor: unknown field; did you mean operator?"},
      {"daemons: {tolerations: Exists}\n", "config.yaml:3: daemons.tolerations: write a list"},
      {"daemons: []\n", "config.yaml:3: daemons: write a map"},
      {"daemons: {imagePullSecrets: one}\n",
       "config.yaml:3: daemons.imagePullSecrets: write a list of texts"},
      {"daemons: {nodeSelector: [a]}\n",
       "config.yaml:3: daemons.nodeSelector: write a map of texts"},
      {"daemons: {schedulerName: [a]}\n", "config.yaml:3: daemons.schedulerName: write one value"},
      {"daemons: {imex: {authEncryption: yes}}\n",
       "config.yaml:3: daemons.imex.authEncryption: write true or false"},
      {"daemons: {imex: {nodeDisconnectedGraceTime: 5m}}\n",
       "config.yaml:3: daemons.imex.nodeDisconnectedGraceTime: write a whole number"},
      {"daemons: {resources: {limits: {memory: 1GB}}}\n",
       "config.yaml:3: daemons.resources.limits.memory: write a quantity such as 100m or 256Mi"},
      {"deletion: {grace: 10}\n",
       "config.yaml:3: deletion.grace: use a duration such as 15s, 1m30s or 500ms"},
      {"status: {}\nstatus: {}\n", "config.yaml:4: status: it is there twice; remove one"},
      {"daemons: {nodeSelector: {resource.nvidia.com/computeDomain: x}}\n",
       "config.yaml: daemons.nodeSelector: leave out resource.nvidia.com/computeDomain, which is "
       "the domain's"},
  };
  for (const Row& row : rows) EXPECT_EQ(RefusalOf(row.text), row.error) << row.text;
}

TEST(Configuration, Z8_ByteThatYamlCppNeverFinishesIsRefused) {
  EXPECT_TRUE(Refusal(",").starts_with("config.yaml")) << Refusal(",");
}

TEST(Configuration, FileOfAnotherKindIsRefused) {
  EXPECT_EQ(Refusal("kind: ControllerConfiguration\n"),
            "config.yaml:1: apiVersion: write cdom.dev/v1alpha1");
  EXPECT_EQ(Refusal("apiVersion: cdom.dev/v1alpha1\nkind: Config\n"),
            "config.yaml:2: kind: write ControllerConfiguration");
  EXPECT_EQ(Refusal("- a\n"), "config.yaml:1: write a map, beginning with apiVersion and kind");
  const std::string empty =
      "config.yaml: The file is empty. Begin with `apiVersion: cdom.dev/v1alpha1`.";
  EXPECT_EQ(Refusal(""), empty);
  EXPECT_EQ(Refusal(" \n# daemons: {}\n\n"), empty);
  EXPECT_EQ(Refusal(kHead + "---\n" + kHead), "config.yaml: write one document");
  EXPECT_NE(Refusal(kHead + "daemons: {\n").find("not YAML"), std::string::npos);
}

TEST(Configuration, QuantitiesAreThoseOfKubernetes) {
  for (const char* good : {"1", "0.5", "100m", "256Mi", "2Gi", "1k"}) {
    EXPECT_EQ(RefusalOf(std::string("daemons: {resources: {limits: {cpu: ") + good + "}}}"), "");
  }
  for (const char* bad : {"''", "m", "-1", "1 Gi", "1gi", "0x10", "inf"}) {
    EXPECT_NE(RefusalOf(std::string("daemons: {resources: {limits: {cpu: ") + bad + "}}}"), "")
        << bad;
  }
}

std::string_view ToString(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return "text";
    case FieldType::kFlag:
      return "true or false";
    case FieldType::kInteger:
      return "whole number";
    case FieldType::kDuration:
      return "duration";
    case FieldType::kTexts:
      return "list of texts";
    case FieldType::kMap:
      return "map of texts";
    case FieldType::kQuantities:
      return "map of quantities";
  }
  return "";
}

std::string RowOf(const Setting& field) {
  std::string allowed(field.allowed);
  for (std::size_t bar = allowed.find('|'); bar != std::string::npos;
       bar = allowed.find('|', bar)) {
    allowed.replace(bar, 1, ", ");
  }
  return "| `" + std::string(field.path) + "` | " + std::string(ToString(field.type)) + " | " +
         std::string(field.fallback) + " | " + std::string(field.meaning) +
         (allowed.empty() ? "" : ": " + allowed) + " |";
}

TEST(Configuration, PageHasEveryFieldWithItsDefaultAndNoOther) {
  constexpr const char* kPage = CDOM_DOCS "/configuration.md";
  std::vector<std::string> expected;
  std::vector<std::string> advanced;
  for (const Setting& setting : Table()) {
    if (setting.path.empty()) continue;
    (setting.is_advanced ? advanced : expected).push_back(RowOf(setting));
  }
  EXPECT_GE(advanced.size(), 8U);
  EXPECT_EQ(fixtures::RowsOf(kPage, expected, "## Look up the fields"), expected);
  EXPECT_EQ(fixtures::RowsOf(kPage, advanced, "## Look up advanced fields"), advanced);
}

}  // namespace
}  // namespace settings
