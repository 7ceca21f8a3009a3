#include "test/simulation/apiserver/shipped_policies.h"

#include <algorithm>
#include <functional>
#include <regex>
#include <set>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/object.h"

namespace simulation {

namespace {

using json::Value;

constexpr const char* kDaemonAccount = ":compute-domain-daemon-service-account";

// Of the metadata, with nothing for null: what CEL has as `.?`, `.orValue({})`.
struct Meta {
  explicit Meta(const Value& object)
      : labels(object["metadata"]["labels"]),
        annotations(object["metadata"]["annotations"]),
        owners(object["metadata"]["ownerReferences"]),
        finalizers(object["metadata"]["finalizers"]) {}
  const Value& labels;
  const Value& annotations;
  const Value& owners;
  const Value& finalizers;
};

bool IsEmpty(const Value& value) {
  return value.IsNull() || (value.items().empty() && value.members().empty() &&
                            (value.IsArray() || value.IsObject()));
}

// Nothing at all and an empty map or list are the same.
bool Same(const Value& a, const Value& b) { return (IsEmpty(a) && IsEmpty(b)) || SameValue(a, b); }

bool Has(const Value& list, const Value& wanted) {
  return std::ranges::any_of(list.items(), [&](const Value& it) { return SameValue(it, wanted); });
}

// But for those keys, the maps are the same.
bool SameBut(const Value& before, const Value& after, const std::set<std::string>& keys) {
  const auto is_in = [&](const Value& map) {
    return [&](const auto& member) {
      const Value* found = map.Find(member.first);
      return keys.contains(std::string(member.first)) ||
             (found != nullptr && SameValue(*found, member.second));
    };
  };
  return std::ranges::all_of(after.members(), is_in(before)) &&
         std::ranges::all_of(before.members(), is_in(after));
}

bool IsUid(const std::string& text) {
  static const std::regex uid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  return std::regex_match(text, uid);
}

bool IsOfAccount(const Admitted& write, const std::string& end) {
  return write.by.user.starts_with("system:serviceaccount:") && write.by.user.ends_with(end);
}

bool IsPlainUpdate(const Admitted& write) {
  return write.operation == "UPDATE" && write.subresource.empty();
}

const std::string& DomainOf(const Meta& meta) { return meta.labels[kDomainLabel].AsString(); }

// ---- cdom-controller-account

bool TakesLabelOrPutsFirst(const Admitted& write) {
  const Meta old(write.before);
  const Meta now(write.after);
  const Value* had = old.labels.Find(kDomainLabel);
  const Value* has = now.labels.Find(kDomainLabel);
  const bool is_right = has == nullptr || (had == nullptr ? IsUid(has->AsString()) : *had == *has);
  return IsPlainUpdate(write) && Same(write.before["spec"], write.after["spec"]) && is_right &&
         SameBut(old.labels, now.labels, {std::string(kDomainLabel)}) &&
         Same(old.annotations, now.annotations) && Same(old.owners, now.owners) &&
         Same(old.finalizers, now.finalizers);
}

bool DeletesADaemon(const Admitted& write) {
  return write.operation == "DELETE" && write.subresource.empty() &&
         !DomainOf(Meta(write.before)).empty() &&
         write.before["spec"]["serviceAccountName"].AsString() ==
             "compute-domain-daemon-service-account";
}

bool IsOfADomain(const Admitted& write) {
  const Meta old(write.before);
  if (write.operation == "DELETE") return !DomainOf(old).empty();
  const Meta now(write.after);
  const std::string& domain = DomainOf(now);
  if (!IsUid(domain)) return false;
  if (write.operation == "CREATE" || DomainOf(old) == domain) return true;
  const bool is_ours = old.annotations.Find(kTemplateHashAnnotation) != nullptr ||
                       std::ranges::any_of(old.owners.items(), [&](const Value& owner) {
                         return owner["uid"].AsString() == domain;
                       });
  return DomainOf(old).empty() && is_ours;
}

bool HasPlainSeLinux(const Value& options) {
  static const std::set<std::string> types = {"",
                                              "container_t",
                                              "container_init_t",
                                              "container_kvm_t",
                                              "container_engine_t",
                                              "nvidia_container_t"};
  return options["user"].AsString().empty() && options["role"].AsString().empty() &&
         types.contains(options["type"].AsString());
}

bool IsPlain(const Value& container) {
  static const std::set<std::string> allowed = {
      "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
      "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"};
  const Value& context = container["securityContext"];
  const auto is_confined = [&](const char* profile) {
    const std::string& type = context[profile]["type"].AsString();
    return type.empty() || type == "RuntimeDefault" || type == "Localhost";
  };
  const auto is_of_node = [](const Value& port) {
    return port["hostPort"].AsInt().value_or(0) > 0;
  };
  const std::string& mount = context["procMount"].AsString();
  return !context["privileged"].AsBool() && (mount.empty() || mount == "Default") &&
         HasPlainSeLinux(context["seLinuxOptions"]) && is_confined("seccompProfile") &&
         is_confined("appArmorProfile") &&
         std::ranges::none_of(container["ports"].items(), is_of_node) &&
         std::ranges::all_of(context["capabilities"]["add"].items(),
                             [](const Value& added) { return allowed.contains(added.AsString()); });
}

bool ReadsNoSecret(const Value& container) {
  const auto is_secret = [](const Value& variable) {
    const Value& from = variable["valueFrom"];
    return from.Find("secretKeyRef") != nullptr || from.Find("configMapKeyRef") != nullptr;
  };
  return IsEmpty(container["envFrom"]) && IsEmpty(container["volumeDevices"]) &&
         std::ranges::none_of(container["env"].items(), is_secret);
}

bool LeavesPodsAsTheyWere(const Admitted& write) {
  return write.operation == "DELETE" ||
         Same(write.before["spec"]["template"]["spec"], write.after["spec"]["template"]["spec"]);
}

bool IsBaseline(const Admitted& write) {
  if (LeavesPodsAsTheyWere(write)) return true;
  const Value& pod = write.after["spec"]["template"]["spec"];
  const Value* host_users = pod.Find("hostUsers");
  return !pod["hostNetwork"].AsBool() && !pod["hostPID"].AsBool() && !pod["hostIPC"].AsBool() &&
         (host_users == nullptr || host_users->AsBool()) && IsEmpty(pod["securityContext"]) &&
         std::ranges::all_of(pod["containers"].items(), IsPlain) &&
         std::ranges::all_of(pod["initContainers"].items(), IsPlain);
}

bool RunsDaemons(const Admitted& write) {
  if (LeavesPodsAsTheyWere(write)) return true;
  const Value& pod = write.after["spec"]["template"]["spec"];
  const auto is_own = [](const Value& volume) {
    return volume.Find("emptyDir") != nullptr ||
           (volume["name"].AsString() == "imex-keys" &&
            volume["secret"]["secretName"].AsString().starts_with("cdom-imex-"));
  };
  const auto is_its_device = [&](const Value& claim) {
    return claim["resourceClaimTemplateName"].AsString() ==
           "computedomain-daemon-" + DomainOf(Meta(write.after));
  };
  const std::string& component =
      write.after["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]
          .AsString();
  if (component == "controller" || component == "kubelet-plugin") return false;
  return pod["serviceAccountName"].AsString() == "compute-domain-daemon-service-account" &&
         std::ranges::all_of(pod["volumes"].items(), is_own) &&
         std::ranges::all_of(pod["resourceClaims"].items(), is_its_device) &&
         std::ranges::all_of(pod["containers"].items(), ReadsNoSecret) &&
         std::ranges::all_of(pod["initContainers"].items(), ReadsNoSecret);
}

bool WritesItsFinalizerAlone(const Admitted& write) {
  const Meta old(write.before);
  const Meta now(write.after);
  const auto is_in = [](const Value& list) {
    return [&](const Value& it) { return it.AsString() == kDomainLabel || Has(list, it); };
  };
  return IsPlainUpdate(write) && Same(write.before["spec"], write.after["spec"]) &&
         Same(old.labels, now.labels) && Same(old.annotations, now.annotations) &&
         Same(old.owners, now.owners) &&
         std::ranges::all_of(now.finalizers.items(), is_in(old.finalizers)) &&
         std::ranges::all_of(old.finalizers.items(), is_in(now.finalizers));
}

bool AddsNoFinalizerAndNoOwner(const Admitted& write) {
  if (write.operation == "DELETE") return true;
  const Meta old(write.before);
  const Meta now(write.after);
  const auto is_its_domain = [&](const Value& owner) {
    return owner["kind"].AsString() == "ComputeDomain" &&
           owner["apiVersion"].AsString() == "resource.nvidia.com/v1beta1" &&
           owner["uid"].AsString() == DomainOf(now);
  };
  return std::ranges::all_of(now.finalizers.items(),
                             [&](const Value& it) { return Has(old.finalizers, it); }) &&
         std::ranges::all_of(now.owners.items(), [&](const Value& owner) {
           return Has(old.owners, owner) || is_its_domain(owner);
         });
}

// Templates of daemons, by their name, ask for the daemons' device.
bool ClaimsForItsDomain(const Admitted& write) {
  const Value& devices = write.after["spec"]["spec"]["devices"];
  if (write.operation == "DELETE" || Same(write.before["spec"]["spec"]["devices"], devices)) {
    return true;
  }
  const std::string& domain = DomainOf(Meta(write.after));
  const bool is_its_own = std::ranges::all_of(devices["config"].items(), [&](const Value& config) {
    const Value& opaque = config["opaque"];
    return opaque["driver"].AsString() != "compute-domain.nvidia.com" ||
           opaque["parameters"]["domainID"].AsString() == domain;
  });
  const std::string& name = write.after["metadata"]["name"].AsString();
  if (!is_its_own || !name.starts_with("computedomain-daemon-")) return is_its_own;
  return name == "computedomain-daemon-" + domain &&
         std::ranges::all_of(devices["requests"].items(), [](const Value& request) {
           const Value* exactly = request.Find("exactly");
           const Value& of_class = exactly != nullptr ? *exactly : request;
           return of_class["deviceClassName"].AsString() == "compute-domain-daemon.nvidia.com";
         });
}

bool WritesACliqueOfItsName(const Admitted& write) {
  static const std::regex of_domain("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[.].+");
  constexpr std::size_t kUidSize = 36;
  const Value& object = write.operation == "DELETE" ? write.before : write.after;
  const std::string& name = object["metadata"]["name"].AsString();
  if (!std::regex_match(name, of_domain)) return false;
  if (write.operation == "DELETE") return true;
  const Meta old(write.before);
  const Meta now(write.after);
  // What the name says may be said by labels, too.
  const auto repeats_name = [&](const auto& label) {
    const Value* had = old.labels.Find(label.first);
    if (had != nullptr && SameValue(*had, label.second)) return true;
    const std::string& said = label.second.AsString();
    return (label.first == kDomainLabel && said == name.substr(0, kUidSize)) ||
           (label.first == kCliqueLabel && said == name.substr(kUidSize + 1));
  };
  return std::ranges::all_of(now.labels.members(), repeats_name) &&
         std::ranges::all_of(
             old.labels.members(),
             [&](const auto& label) { return now.labels.Find(label.first) != nullptr; }) &&
         SameBut(old.annotations, now.annotations,
                 {"cdom.dev/held-indices", "cdom.dev/joining", "cdom.dev/rebooted-nodes"}) &&
         std::ranges::all_of(now.finalizers.items(),
                             [&](const Value& it) { return Has(old.finalizers, it); }) &&
         std::ranges::all_of(now.owners.items(), [&](const Value& owner) {
           return Has(old.owners, owner) ||
                  (owner["kind"].AsString() == "DaemonSet" &&
                   owner["apiVersion"].AsString() == "apps/v1" && !owner["controller"].AsBool());
         });
}

bool ReportsAsItself(const Admitted& write) {
  const auto is_own = [](const Value& event) {
    return event["reportingController"].AsString() == "cdom.dev/compute-domain-controller";
  };
  return write.operation != "DELETE" && is_own(write.after) &&
         (write.operation == "CREATE" || is_own(write.before));
}

bool IsTheController(const Admitted& write) {
  static const std::set<std::string> bound = {
      "nodes",          "pods",   "resourceclaimtemplates", "daemonsets",
      "computedomains", "events", "computedomaincliques"};
  const bool with_subresources = write.resource == "nodes" || write.resource == "pods";
  return IsOfAccount(write, ":cdom-controller") && bound.contains(write.resource) &&
         (write.subresource.empty() || with_subresources);
}

// ---- cdom-daemon-account

// Empty: a pod of some other name.
std::string DomainInName(const std::string& pod) {
  static const std::regex name(
      "computedomain-daemon-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-[a-z0-9]+");
  std::smatch match;
  return std::regex_match(pod, match, name) ? match[1].str() : "";
}

bool HasAToken(const Admitted& write) {
  return !write.by.node.empty() && !write.by.pod.empty() &&
         write.by.user == "system:serviceaccount:" + write.ns + kDaemonAccount;
}

bool UpdatesOrMakesAClique(const Admitted& write) {
  return IsPlainUpdate(write) || (write.operation == "CREATE" && write.resource != "pods");
}

bool ReportsOfItself(const Admitted& write) {
  if (!IsPlainUpdate(write)) return true;
  const Meta old(write.before);
  const Meta now(write.after);
  return write.name == write.by.pod &&
         write.after["metadata"]["uid"].AsString() == write.by.pod_uid &&
         Same(write.before["spec"], write.after["spec"]) && Same(old.owners, now.owners) &&
         Same(old.finalizers, now.finalizers) &&
         SameBut(old.labels, now.labels, {std::string(kCliqueLabel)}) &&
         SameBut(old.annotations, now.annotations, {std::string(kImexAnnotation)});
}

bool IsOfItsDomain(const Admitted& write) {
  const std::string domain = DomainInName(write.by.pod);
  return write.operation == "DELETE" ||
         (!domain.empty() && write.after["metadata"]["name"].AsString().starts_with(domain + "."));
}

bool LabelsAsItsName(const Admitted& write) {
  if (write.operation == "DELETE") return true;
  const Meta old(write.before);
  const Meta now(write.after);
  const std::string name = DomainOf(now) + "." + now.labels[kCliqueLabel].AsString();
  const bool is_found =
      write.operation == "CREATE"
          ? DomainOf(now).find('.') == std::string::npos &&
                SameBut({}, now.labels, {std::string(kDomainLabel), std::string(kCliqueLabel)}) &&
                write.after["metadata"]["name"].AsString() == name
          : Same(old.labels, now.labels);
  return is_found && Same(old.annotations, now.annotations) && Same(old.finalizers, now.finalizers);
}

bool AddsItsPodToOwners(const Admitted& write) {
  if (write.operation == "DELETE") return true;
  const Value& old = Meta(write.before).owners;
  const Value& now = Meta(write.after).owners;
  return std::ranges::all_of(now.items(),
                             [&](const Value& owner) {
                               return Has(old, owner) ||
                                      (owner["kind"].AsString() == "Pod" &&
                                       owner["apiVersion"].AsString() == "v1" &&
                                       owner["name"].AsString() == write.by.pod &&
                                       owner["uid"].AsString() == write.by.pod_uid &&
                                       !owner["controller"].AsBool());
                             }) &&
         std::ranges::all_of(old.items(), [&](const Value& owner) { return Has(now, owner); });
}

bool WritesItsEntry(const Admitted& write) {
  if (write.operation == "DELETE") return true;
  const Value& old = write.before["daemons"];
  const Value& now = write.after["daemons"];
  const auto is_in = [&](const Value& list) {
    return [&](const Value& entry) {
      return entry["nodeName"].AsString() == write.by.node || Has(list, entry);
    };
  };
  return std::ranges::all_of(now.items(), is_in(old)) &&
         std::ranges::all_of(old.items(), is_in(now));
}

bool TakesAFreeIndex(const Admitted& write) {
  if (write.operation == "DELETE") return true;
  const Value& now = write.after["daemons"];
  const auto has_index = [](const Value& entry, const Value& index) {
    return entry.Find("index") != nullptr && entry["index"] == index;
  };
  return std::ranges::all_of(now.items(), [&](const Value& entry) {
    const Value* index = entry.Find("index");
    if (entry["nodeName"].AsString() != write.by.node || index == nullptr) return true;
    const auto& old = write.before["daemons"].items();
    const bool had = std::ranges::any_of(old, [&](const Value& other) {
      return other["nodeName"] == entry["nodeName"] && has_index(other, *index);
    });
    return had || std::ranges::none_of(now.items(), [&](const Value& other) {
             return other["nodeName"] != entry["nodeName"] && has_index(other, *index);
           });
  });
}

bool SaysItsCliqueAndAnIndex(const Admitted& write) {
  constexpr std::int64_t kIndices = 10'000;
  if (write.operation == "DELETE") return true;
  const std::string& name = write.after["metadata"]["name"].AsString();
  return std::ranges::all_of(write.after["daemons"].items(), [&](const Value& entry) {
    if (entry["nodeName"].AsString() != write.by.node || Has(write.before["daemons"], entry)) {
      return true;
    }
    const std::int64_t index = entry["index"].AsInt().value_or(0);
    return name.ends_with("." + entry["cliqueID"].AsString()) && index >= 0 && index < kIndices;
  });
}

bool IsADaemon(const Admitted& write) {
  return IsOfAccount(write, kDaemonAccount) &&
         (write.resource == "pods" ||
          (write.resource == "computedomaincliques" && write.subresource.empty()));
}

// ---- cdom-plugin-account

bool HasANode(const Admitted& write) { return !write.by.node.empty(); }

bool LabelsItsNode(const Admitted& write) {
  if (!HasANode(write)) return true;
  const Meta old(write.before);
  const Meta now(write.after);
  return IsPlainUpdate(write) && write.name == write.by.node &&
         Same(write.before["spec"], write.after["spec"]) &&
         SameBut(old.labels, now.labels, {std::string(kDomainLabel), "nvidia.com/gpu.clique"}) &&
         Same(old.annotations, now.annotations) && Same(old.owners, now.owners) &&
         Same(old.finalizers, now.finalizers);
}

bool WritesItsSlices(const Admitted& write) {
  if (!HasANode(write)) return true;
  const auto is_its = [&](const Value& slice) {
    const std::string_view driver = slice["spec"]["driver"].AsString();
    const bool is_ours = driver == "compute-domain.nvidia.com" || driver == "gpu.nvidia.com";
    return slice.IsNull() || (is_ours && slice["spec"]["nodeName"].AsString() == write.by.node);
  };
  return is_its(write.before) && is_its(write.after);
}

bool IsAPlugin(const Admitted& write) {
  return IsOfAccount(write, ":cdom-kubelet-plugin") &&
         (write.resource == "nodes" ||
          (write.resource == "resourceslices" && write.subresource.empty()));
}

// ----

using Predicate = bool (*)(const Admitted&);

struct PolicyRule {
  std::set<std::string> of = {};  // Resources; empty: all.
  Predicate holds = nullptr;
};

struct Policy {
  std::string name = {};
  Predicate concerns = nullptr;
  std::vector<PolicyRule> rules = {};
};

const std::vector<Policy>& Policies() {
  static const std::vector<Policy> policies = {
      {.name = "cdom-controller-account",
       .concerns = IsTheController,
       .rules = {{{"nodes"}, TakesLabelOrPutsFirst},
                 {{"pods"}, DeletesADaemon},
                 {{"resourceclaimtemplates", "daemonsets"}, IsOfADomain},
                 {{"daemonsets"}, IsBaseline},
                 {{"computedomains"}, WritesItsFinalizerAlone},
                 {{"resourceclaimtemplates", "daemonsets"}, AddsNoFinalizerAndNoOwner},
                 {{"computedomaincliques"}, WritesACliqueOfItsName},
                 {{"events"}, ReportsAsItself},
                 {{"resourceclaimtemplates"}, ClaimsForItsDomain},
                 {{"daemonsets"}, RunsDaemons}}},
      {.name = "cdom-daemon-account",
       .concerns = IsADaemon,
       .rules = {{{}, HasAToken},
                 {{}, UpdatesOrMakesAClique},
                 {{"pods"}, ReportsOfItself},
                 {{"computedomaincliques"}, IsOfItsDomain},
                 {{"computedomaincliques"}, LabelsAsItsName},
                 {{"computedomaincliques"}, AddsItsPodToOwners},
                 {{"computedomaincliques"}, WritesItsEntry},
                 {{"computedomaincliques"}, TakesAFreeIndex},
                 {{"computedomaincliques"}, SaysItsCliqueAndAnIndex}}},
      {.name = "cdom-plugin-account",
       .concerns = IsAPlugin,
       .rules = {
           {{}, HasANode}, {{"nodes"}, LabelsItsNode}, {{"resourceslices"}, WritesItsSlices}}}};
  return policies;
}

}  // namespace

std::vector<Objection> FindObjections(const Admitted& write) {
  std::vector<Objection> objections;
  for (const Policy& policy : Policies()) {
    if (!policy.concerns(write)) continue;
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
      const PolicyRule& rule = policy.rules[i];
      const bool asks = rule.of.empty() || rule.of.contains(write.resource);
      if (asks && !rule.holds(write)) {
        objections.push_back({.policy = policy.name, .rule = static_cast<int>(i) + 1});
      }
    }
  }
  return objections;
}

const std::vector<std::string>& KnownPolicies() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Policy& policy : Policies()) all.push_back(policy.name);
    return all;
  }();
  return names;
}

}  // namespace simulation
