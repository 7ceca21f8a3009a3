#include "controller/daemon_set/render.h"

#include <algorithm>
#include <array>

#include "controller/api/names.h"

namespace daemon_set {

namespace {

using json::Value;

constexpr const char* kKeysVolume = "imex-keys";

// Folders for IMEX's state and statistics. The daemon empties them when its container starts.
constexpr const char* kScratchVolume = "scratch";
constexpr auto kScratchFolders = std::to_array<std::pair<const char*, const char*>>(
    {{"/run", "run"}, {"/tmp", "tmp"}, {"/var/log", "log"}});

void SetUnlessEmpty(Value& object, const char* field, const Value& value) {
  const bool is_empty = value.IsNull() || (value.IsString() && value.AsString().empty());
  if (!is_empty) object[field] = value;
}

Value EnvValue(const char* name, std::string value) {
  return Value::Object({{"name", name}, {"value", std::move(value)}});
}

Value EnvField(const char* name, const char* path) {
  return Value::Object(
      {{"name", name},
       {"valueFrom", Value::Object({{"fieldRef", Value::Object({{"fieldPath", path}})}})}});
}

Value Probe(int period_seconds, int failures) {
  return Value::Object(
      {{"exec", Value::Object({{"command", Value::Array({"compute-domain-daemon", "-v",
                                                         "$(LOG_VERBOSITY)", "check"})}})},
       {"periodSeconds", period_seconds},
       {"failureThreshold", failures},
       {"timeoutSeconds", 10}});
}

bool GainsPrivileges(const Value& context) {
  const auto is_admin = [](const Value& capability) {
    return capability.AsString().ends_with("SYS_ADMIN");
  };
  return context["privileged"].AsBool() ||
         std::ranges::any_of(context["capabilities"]["add"].items(), is_admin);
}

// Runs cdom's daemon as root without capabilities: root owns all files that it and IMEX write.
// Fields that the configuration sets stay as they are.
Value SecurityContext(const DaemonSetSettings& settings) {
  const Value& said = settings.security_context;
  if (!settings.controller_writes) return said;
  Value context = said.IsNull() ? Value::Object() : said;
  // Kubernetes refuses `false` for a container that gains privileges.
  if (said.Find("allowPrivilegeEscalation") == nullptr && !GainsPrivileges(said)) {
    context["allowPrivilegeEscalation"] = false;
  }
  if (said.Find("readOnlyRootFilesystem") == nullptr) context["readOnlyRootFilesystem"] = true;
  if (said["capabilities"].Find("drop") == nullptr) {
    context["capabilities"]["drop"] = Value::Array({"ALL"});
  }
  if (said["seccompProfile"].Find("type") == nullptr) {
    context["seccompProfile"]["type"] = "RuntimeDefault";
  }
  return context;
}

void MountScratch(Value& container) {
  std::string folders;
  for (const auto& [folder, part] : kScratchFolders) {
    container["volumeMounts"].Append(
        Value::Object({{"name", kScratchVolume}, {"mountPath", folder}, {"subPath", part}}));
    folders.append(folders.empty() ? "" : ",").append(folder);
  }
  container["env"].Append(EnvValue("SCRATCH_FOLDERS", folders));
}

Value Container(const DaemonSetSettings& settings, const Value& security_context, bool has_scratch,
                NodeNames names) {
  Value container = Value::Object(
      {{"name", api::kDaemonContainer},
       {"image", settings.image},
       {"command", Value::Array({"compute-domain-daemon", "-v", "$(LOG_VERBOSITY)", "run"})},
       {"env",
        Value::Array(
            {EnvValue("MAX_NODES_PER_IMEX_DOMAIN",
                      std::to_string(settings.nodes_per_imex_domain_max)),
             EnvField("NODE_NAME", "spec.nodeName"), EnvField("POD_IP", "status.podIP"),
             EnvField("POD_UID", "metadata.uid"), EnvField("POD_NAME", "metadata.name"),
             EnvField("POD_NAMESPACE", "metadata.namespace"),
             EnvValue("LOG_VERBOSITY", std::to_string(settings.log_verbosity)),
             // A daemon exits at an unknown gate, so only gates of all versions are set.
             EnvValue("FEATURE_GATES", "ComputeDomainCliques=true,IMEXDaemonsWithDNSNames=true"),
             EnvValue("NVIDIA_VISIBLE_DEVICES", "void")})},
       // The first start of IMEX may take 20 minutes. Then readiness is checked every 10 s, and
       // liveness slowly, because a restart ends the jobs of all peers.
       {"startupProbe", Probe(1, 1200)},
       {"livenessProbe", Probe(60, 20)},
       {"readinessProbe", Probe(10, 1)},
       // The daemon's last message appears in the domain's condition.
       {"terminationMessagePolicy", "FallbackToLogsOnError"},
       {"resources",
        Value::Object(
            {{"claims", Value::Array({Value::Object({{"name", api::kDaemonContainer}})})}})}});
  // Without a startup probe, a kubelet checks readiness as soon as the container runs. A daemon
  // that has just started delays its answer for a while.
  if (settings.controller_writes) container.Erase("startupProbe");
  if (names == NodeNames::kOfDomain) {
    container["env"].Append(EnvValue("IMEX_NODE_NAMES", std::string(api::kNodeNamesOfDomain)));
  }
  for (const auto& [name, value] : settings.environment) {
    container["env"].Append(EnvValue(name.c_str(), value));
  }
  for (const auto& [name, value] : settings.resources.members()) {
    container["resources"][name] = value;
  }
  if (!settings.keys_secret.empty()) {
    container["volumeMounts"] = Value::Array(
        {Value::Object({{"name", kKeysVolume}, {"mountPath", "/imex-keys"}, {"readOnly", true}})});
  }
  if (has_scratch) MountScratch(container);
  SetUnlessEmpty(container, "imagePullPolicy", settings.image_pull_policy);
  SetUnlessEmpty(container, "securityContext", security_context);
  return container;
}

}  // namespace

json::Value DaemonSetSettings::AllTaints() {
  return Value::ArrayOf(std::array{"NoSchedule", "NoExecute", "PreferNoSchedule"},
                        [](const char* effect) {
                          return Value::Object({{"operator", "Exists"}, {"effect", effect}});
                        });
}

json::Value DaemonSetSettings::OneDot() {
  return Value::Object(
      {{"options", Value::Array({Value::Object({{"name", "ndots"}, {"value", "1"}})})}});
}

json::Value Render(const kube::Uid& domain_uid, const DaemonSetSettings& settings,
                   NodeNames names) {
  const std::string name = api::DaemonName(domain_uid);
  const Value domain_label = Value::Object({{std::string(api::kDomainLabel), domain_uid}});
  Value pod_labels = domain_label;
  if (settings.controller_writes) {
    pod_labels[api::kMembershipWriterLabel] = api::kMembershipWriterController;
  }
  Value node_selector = domain_label;
  for (const auto& [label, value] : settings.node_selector.members()) node_selector[label] = value;
  const Value security_context = SecurityContext(settings);
  const bool has_scratch =
      settings.controller_writes && security_context["readOnlyRootFilesystem"].AsBool();
  Value pod_spec = Value::Object(
      {{"serviceAccountName", api::kDaemonServiceAccount},
       {"nodeSelector", std::move(node_selector)},
       {"containers", Value::Array({Container(settings, security_context, has_scratch, names)})},
       {"resourceClaims", Value::Array({Value::Object({{"name", api::kDaemonContainer},
                                                       {"resourceClaimTemplateName", name}})})}});
  for (const std::string& secret : settings.pull_secrets) {
    pod_spec["imagePullSecrets"].Append(Value::Object({{"name", secret}}));
  }
  SetUnlessEmpty(pod_spec, "priorityClassName", settings.priority_class);
  SetUnlessEmpty(pod_spec, "tolerations", settings.tolerations);
  SetUnlessEmpty(pod_spec, "dnsConfig", settings.dns_config);
  SetUnlessEmpty(pod_spec, "schedulerName", settings.scheduler_name);
  if (!settings.keys_secret.empty()) {
    pod_spec["volumes"].Append(
        Value::Object({{"name", kKeysVolume},
                       {"secret", Value::Object({{"secretName", settings.keys_secret}})}}));
  }
  if (has_scratch) {
    pod_spec["volumes"].Append(
        Value::Object({{"name", kScratchVolume}, {"emptyDir", Value::Object()}}));
  }

  Value pod_meta = Value::Object({{"labels", std::move(pod_labels)}});
  if (names == NodeNames::kOfDomain) {
    pod_meta["annotations"][api::kNodeNamesAnnotation] = api::kNodeNamesOfDomain;
  }
  return Value::Object(
      {{"apiVersion", "apps/v1"},
       {"kind", "DaemonSet"},
       {"metadata",
        Value::Object({{"name", name}, {"namespace", settings.ns}, {"labels", domain_label}})},
       {"spec", Value::Object({{"selector", Value::Object({{"matchLabels", domain_label}})},
                               // The controller replaces pods itself, clique by clique.
                               {"updateStrategy", Value::Object({{"type", "OnDelete"}})},
                               {"template", Value::Object({{"metadata", std::move(pod_meta)},
                                                           {"spec", std::move(pod_spec)}})}})}});
}

}  // namespace daemon_set
