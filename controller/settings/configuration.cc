#include "controller/settings/configuration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>
#include <vector>

#include "controller/api/names.h"
#include "pkg/base/duration.h"
#include "pkg/kube/api/names.h"
#include "pkg/yaml/document.h"

namespace settings {

namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using json::Value;

constexpr std::string_view kApiVersion = "cdom.dev/v1alpha1";
constexpr std::string_view kKind = "ControllerConfiguration";

constexpr std::array kFields = {
    Field{"daemons.priorityClassName", FieldType::kText, "system-node-critical",
          "Priority class of the daemon pods. The default keeps them from being evicted and lets "
          "them in first; no quota is needed for it. Empty: the cluster's default"},
    Field{
        "daemons.resources.requests", FieldType::kQuantities, "none",
        "Resources that a daemon asks for, such as `{cpu: 100m, memory: 256Mi}`. Where the pods of "
        "a job ask for all of a node, it would drive them out"},
    Field{"daemons.resources.limits", FieldType::kQuantities, "none",
          "And may not exceed. A memory limit that is too low ends IMEX, and with it the jobs of "
          "all peers"},
    Field{"daemons.imagePullPolicy", FieldType::kText, "Kubernetes' own",
          "When the daemons' image is pulled", "Always|IfNotPresent|Never"},
    Field{"daemons.imagePullSecrets", FieldType::kTexts, "none",
          "Names of pull secrets in the driver namespace. The flag "
          "`--cd-daemon-image-pull-secret-names` takes precedence"},
    Field{"daemons.tolerations[].key", FieldType::kText, "any",
          "Taint that the daemons tolerate. Without `daemons.tolerations` they tolerate every "
          "taint; an empty list: none"},
    Field{"daemons.tolerations[].operator", FieldType::kText, "Equal",
          "How the taint's value is compared", "Equal|Exists"},
    Field{"daemons.tolerations[].value", FieldType::kText, "empty", "Value of the taint"},
    Field{"daemons.tolerations[].effect", FieldType::kText, "any", "Effect of the taint",
          "NoSchedule|NoExecute|PreferNoSchedule"},
    Field{"daemons.tolerations[].tolerationSeconds", FieldType::kInteger, "for ever",
          "How long a NoExecute taint is tolerated"},
    Field{"daemons.dnsConfig.nameservers", FieldType::kTexts, "none", "Further name servers"},
    Field{"daemons.dnsConfig.searches", FieldType::kTexts, "none", "Further search domains"},
    Field{
        "daemons.dnsConfig.options[].name", FieldType::kText, "ndots",
        "Option of the resolver. Without `daemons.dnsConfig` it is `ndots` with value `1`: a name "
        "with a dot is looked up as it stands, and not with each search domain first"},
    Field{"daemons.dnsConfig.options[].value", FieldType::kText, "1", "Its value"},
    Field{"daemons.securityContext.runAsUser", FieldType::kInteger, "the image's",
          "User of the daemon's container"},
    Field{"daemons.securityContext.runAsGroup", FieldType::kInteger, "the image's", "Its group"},
    Field{"daemons.securityContext.runAsNonRoot", FieldType::kFlag, "false",
          "Whether Kubernetes refuses to start it as root"},
    Field{"daemons.securityContext.privileged", FieldType::kFlag, "false",
          "Whether it may do anything on the node; no daemon needs it"},
    Field{"daemons.securityContext.allowPrivilegeEscalation", FieldType::kFlag, "true",
          "Whether it may gain rights that it did not start with"},
    Field{"daemons.securityContext.readOnlyRootFilesystem", FieldType::kFlag, "false",
          "Whether its files are read-only. NVIDIA's daemon writes its configuration to a mount, "
          "and its statistics to `/var/log`"},
    Field{"daemons.securityContext.capabilities.add", FieldType::kTexts, "none",
          "Capabilities that it gets"},
    Field{"daemons.securityContext.capabilities.drop", FieldType::kTexts, "none",
          "Capabilities that it loses"},
    Field{"daemons.securityContext.seccompProfile.type", FieldType::kText, "Kubernetes' own",
          "Filter of system calls", "RuntimeDefault|Unconfined|Localhost"},
    Field{"daemons.securityContext.seccompProfile.localhostProfile", FieldType::kText, "none",
          "Its file on the node, with type `Localhost`"},
    Field{"daemons.seLinuxOptions.user", FieldType::kText, "the runtime's",
          "SELinux user of the container"},
    Field{"daemons.seLinuxOptions.role", FieldType::kText, "the runtime's", "Its role"},
    Field{"daemons.seLinuxOptions.type", FieldType::kText, "the runtime's", "Its type"},
    Field{"daemons.seLinuxOptions.level", FieldType::kText, "the runtime's", "Its level"},
    Field{"daemons.schedulerName", FieldType::kText, "Kubernetes' own",
          "Scheduler that places the daemon pods"},
    Field{"daemons.nodeSelector", FieldType::kMap, "none",
          "Labels that a node must have, besides the domain's own"},
    Field{"daemons.imex.nodeDisconnectedGraceTime", FieldType::kInteger, "-1",
          "Seconds for which IMEX keeps the memory of a peer that is gone; -1: for ever. Goes to "
          "the daemon as `IMEX_NODE_DISCONNECTED_GRACE_TIME`"},
    Field{"daemons.imex.authEncryption", FieldType::kFlag, "false",
          "Whether IMEX authenticates and encrypts. Goes to the daemon as "
          "`IMEX_ENABLE_AUTH_ENCRYPTION`; its keys are the daemon image's affair"},
    Field{"deletion.grace", FieldType::kDuration, "10m",
          "How long a deletion waits for pods that use the domain. The flag `--deletion-grace` "
          "takes precedence"},
    Field{"membership.indexHold", FieldType::kDuration, "60s",
          "How long a node that went away keeps its IMEX index, with "
          "`--membership-writer=controller`; 0: it does not"},
    Field{
        "nodes.leavingTaints", FieldType::kTexts,
        "`ToBeDeletedByClusterAutoscaler`, `karpenter.sh/disrupted`, "
        "`cloud.google.com/impending-node-termination`, `aws-node-termination-handler/*`, "
        "`node.kubernetes.io/out-of-service`",
        "Keys of taints by which a node is known to be about to go, as one that is cordoned is in "
        "any case (`NodeLeaving`). With `/*` at its end one stands for all keys of a prefix. A "
        "taint with effect PreferNoSchedule says nothing"},
    Field{
        "roll.policy", FieldType::kText, "WhenIdle",
        "When a daemon of an older template is replaced: while no claim of its domain is on a node "
        "of its clique, or also under a job, which that ends. The annotation "
        "`cdom.dev/daemon-roll` of a domain takes precedence",
        "WhenIdle|Always"},
    Field{"roll.cliques", FieldType::kInteger, "3",
          "In so many cliques of the whole cluster daemons are replaced at a time"},
    Field{"roll.settle", FieldType::kDuration, "10s",
          "A replacement serves for so long before the next daemon is replaced"},
    Field{"roll.deadline", FieldType::kDuration, "5m",
          "A replacement that does not serve after this time stops the roll in all domains"},
    Field{"status.window", FieldType::kDuration, "500ms",
          "Changes of a status or a clique that come within this time after a write are written "
          "together. What takes readiness away is written at once"},
    Field{"status.nameOthers", FieldType::kText, "SameNamespace",
          "Whether conditions and Events of a domain name the domains and claims of other "
          "namespaces that stand in its way, or only say that there are such. `/debug/domains` "
          "always names them",
          "SameNamespace|Always"},
};

// Changes needed to make one word of the other.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// The names that may stand right below `prefix`, which is empty or ends in a dot.
std::set<std::string> NamesBelow(const std::string& prefix) {
  std::set<std::string> names;
  if (prefix.empty()) names = {"apiVersion", "kind"};
  for (const Field& field : kFields) {
    if (!field.path.starts_with(prefix)) continue;
    const std::string_view rest = field.path.substr(prefix.size());
    names.emplace(rest.substr(0, rest.find_first_of(".[")));
  }
  return names;
}

std::string Nearest(const std::string& name, const std::set<std::string>& names) {
  return *std::ranges::min_element(names, {},
                                   [&](const std::string& known) { return Distance(name, known); });
}

const Field* FindField(const std::string& path) {
  const auto it = std::ranges::find(kFields, path, &Field::path);
  return it == kFields.end() ? nullptr : &*it;
}

bool HasFieldsBelow(const std::string& prefix) {
  return std::ranges::any_of(kFields,
                             [&](const Field& field) { return field.path.starts_with(prefix); });
}

bool IsAllowed(std::string_view allowed, std::string_view value) {
  return allowed.empty() ||
         ("|" + std::string(allowed) + "|").find("|" + std::string(value) + "|") !=
             std::string::npos;
}

// As Kubernetes writes them: "100m", "1.5", "256Mi".
bool IsQuantity(std::string_view text) {
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const bool is_number = !text.empty() && text.front() >= '0' && text.front() <= '9';  // Not "inf".
  return is_number && error == std::errc() && IsAllowed("|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei", unit);
}

// Reads the file into JSON, whose shape is that of the fields.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  [[nodiscard]] Result<Value> Read(const YAML::Node& root) const {
    if (!root.IsMap()) return Wrong(root, "", "write a map, beginning with apiVersion and kind");
    Value value = TRY(Map(root, "", ""));
    if (value["apiVersion"].AsString() != kApiVersion) {
      return Wrong(root["apiVersion"] ? root["apiVersion"] : root, "apiVersion",
                   "write " + std::string(kApiVersion));
    }
    if (value["kind"].AsString() != kKind) {
      return Wrong(root["kind"] ? root["kind"] : root, "kind", "write " + std::string(kKind));
    }
    return value;
  }

 private:
  [[nodiscard]] tl::unexpected<base::Error> Wrong(const YAML::Node& node, const std::string& field,
                                                  const std::string& fix) const {
    return Fail(ErrorCode::kInvalid, file_ + ":" + std::to_string(node.Mark().line + 1) + ": " +
                                         (field.empty() ? "" : field + ": ") + fix);
  }

  // `prefix` is how the fields call it, `shown` how the file does: with numbers of items.
  [[nodiscard]] Result<Value> Map(const YAML::Node& node, const std::string& prefix,
                                  const std::string& shown) const {
    Value value = Value::Object();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return Wrong(member.first, shown, "write names as text");
      const std::string& name = member.first.Scalar();
      const std::set<std::string> names = NamesBelow(prefix);
      if (!names.contains(name)) {
        return Wrong(member.first, shown + name,
                     "unknown field; did you mean " + Nearest(name, names) + "?");
      }
      if (value.Find(name) != nullptr) {
        return Wrong(member.first, shown + name, "it is there twice; remove one");
      }
      if (member.second.IsNull()) continue;  // As if it were not there.
      value[name] = TRY(Member(member.second, prefix + name, shown + name));
    }
    return value;
  }

  [[nodiscard]] Result<Value> Member(const YAML::Node& node, const std::string& path,
                                     const std::string& shown) const {
    if (const Field* field = FindField(path)) return Leaf(node, *field, shown);
    if (path == "apiVersion" || path == "kind") return Text(node, shown);
    if (!HasFieldsBelow(path + "[].")) {
      if (!node.IsMap()) return Wrong(node, shown, "write a map");
      return Map(node, path + ".", shown + ".");
    }
    if (!node.IsSequence()) return Wrong(node, shown, "write a list");
    Value list = Value::Array();
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::string item = shown + "[" + std::to_string(i) + "]";
      if (!node[i].IsMap()) return Wrong(node[i], item, "write a map");
      list.Append(TRY(Map(node[i], path + "[].", item + ".")));
    }
    return list;
  }

  [[nodiscard]] Result<Value> Leaf(const YAML::Node& node, const Field& field,
                                   const std::string& shown) const {
    switch (field.type) {
      case FieldType::kTexts: {
        if (!node.IsSequence()) return Wrong(node, shown, "write a list of texts");
        Value list = Value::Array();
        for (const YAML::Node& item : node) list.Append(TRY(Text(item, shown)));
        return list;
      }
      case FieldType::kMap:
      case FieldType::kQuantities:
        return Texts(node, field.type, shown);
      default:
        return Scalar(TRY(Text(node, shown)).AsString(), node, field, shown);
    }
  }

  [[nodiscard]] Result<Value> Text(const YAML::Node& node, const std::string& shown) const {
    if (!node.IsScalar()) return Wrong(node, shown, "write one value");
    return Value(node.Scalar());
  }

  [[nodiscard]] Result<Value> Texts(const YAML::Node& node, FieldType type,
                                    const std::string& shown) const {
    if (!node.IsMap()) return Wrong(node, shown, "write a map of texts");
    Value map = Value::Object();
    for (const auto& member : node) {
      const std::string name = TRY(Text(member.first, shown)).AsString();
      const std::string text = TRY(Text(member.second, shown + "." + name)).AsString();
      if (type == FieldType::kQuantities && !IsQuantity(text)) {
        return Wrong(member.second, shown + "." + name, "write a quantity such as 100m or 256Mi");
      }
      map[name] = text;
    }
    return map;
  }

  [[nodiscard]] Result<Value> Scalar(const std::string& text, const YAML::Node& node,
                                     const Field& field, const std::string& shown) const {
    if (field.type == FieldType::kFlag) {
      if (text != "true" && text != "false") return Wrong(node, shown, "write true or false");
      return Value(text == "true");
    }
    if (field.type == FieldType::kInteger) {
      std::int64_t number = 0;
      const char* end = text.data() + text.size();
      const auto [rest, error] = std::from_chars(text.data(), end, number);
      if (error != std::errc() || rest != end) return Wrong(node, shown, "write a whole number");
      return Value(number);
    }
    if (field.type == FieldType::kDuration) {
      if (const auto duration = base::ParseDuration(text); !duration) {
        return Wrong(node, shown, duration.error().message);
      }
    } else if (!IsAllowed(field.allowed, text)) {
      return Wrong(node, shown, "write one of " + std::string(field.allowed));
    }
    return Value(text);
  }

  const std::string& file_;
};

void SetIfThere(const Value& value, std::string& into) {
  if (!value.IsNull()) into = value.AsString();
}
void SetIfThere(const Value& value, Value& into) {
  if (!value.IsNull()) into = value;
}

void ApplyImex(const Value& imex, daemon_set::Settings& daemons) {
  if (const auto grace = imex["nodeDisconnectedGraceTime"].AsInt()) {
    daemons.environment.emplace_back("IMEX_NODE_DISCONNECTED_GRACE_TIME", std::to_string(*grace));
  }
  if (!imex["authEncryption"].IsNull()) {
    daemons.environment.emplace_back("IMEX_ENABLE_AUTH_ENCRYPTION",
                                     imex["authEncryption"].AsBool() ? "1" : "0");
  }
}

// Or a prefix of some, which ends in "/*". Of Kubernetes' own, but for one, the controller keeps no
// trace: they repeat what it knows.
bool IsLeavingTaint(std::string_view text) {
  if (text == api::kOutOfServiceTaint) return true;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return !text.empty() && kube::IsLabelValue(text);
  const std::string_view prefix = text.substr(0, slash);
  const std::string_view name = text.substr(slash + 1);
  return kube::IsDnsSubdomain(prefix) && prefix != "node.kubernetes.io" &&
         (name == "*" || (!name.empty() && kube::IsLabelValue(name)));
}

Result<void> CheckLeavingTaints(const Value& taints, const std::string& file) {
  for (const Value& taint : taints.items()) {
    if (IsLeavingTaint(taint.AsString())) continue;
    return Fail(ErrorCode::kInvalid,
                file +
                    ": nodes.leavingTaints: write keys of taints, such as example.com/spot or "
                    "example.com/*, and of node.kubernetes.io none but out-of-service");
  }
  return {};
}

void ApplyRollout(const Value& from, Settings::Rollout& rollout) {
  if (!from["policy"].IsNull()) rollout.under_jobs = from["policy"].AsString() == "Always";
  if (const auto cliques = from["cliques"].AsInt()) {
    rollout.cliques = static_cast<int>(std::clamp<std::int64_t>(*cliques, 0, 1000));
  }
  if (const auto settle = base::ParseDuration(from["settle"].AsString())) {
    rollout.settle = std::chrono::ceil<std::chrono::seconds>(*settle);
  }
  if (const auto deadline = base::ParseDuration(from["deadline"].AsString())) {
    rollout.deadline = std::chrono::ceil<std::chrono::seconds>(*deadline);
  }
}

void Apply(const Value& file, Settings& settings) {
  const Value& from = file["daemons"];
  daemon_set::Settings& daemons = settings.daemons;
  SetIfThere(from["priorityClassName"], daemons.priority_class);
  SetIfThere(from["resources"], daemons.resources);
  SetIfThere(from["imagePullPolicy"], daemons.image_pull_policy);
  SetIfThere(from["tolerations"], daemons.tolerations);
  SetIfThere(from["dnsConfig"], daemons.dns_config);
  SetIfThere(from["securityContext"], daemons.security_context);
  if (!from["seLinuxOptions"].IsNull()) {
    daemons.security_context["seLinuxOptions"] = from["seLinuxOptions"];
  }
  SetIfThere(from["schedulerName"], daemons.scheduler_name);
  SetIfThere(from["nodeSelector"], daemons.node_selector);
  for (const Value& secret : from["imagePullSecrets"].items()) {
    settings.pull_secrets.push_back(secret.AsString());
  }
  ApplyImex(from["imex"], daemons);
  if (const auto grace = base::ParseDuration(file["deletion"]["grace"].AsString())) {
    settings.deletion_grace = std::chrono::ceil<std::chrono::seconds>(*grace);
  }
  if (const auto hold = base::ParseDuration(file["membership"]["indexHold"].AsString())) {
    settings.index_hold = std::chrono::ceil<std::chrono::seconds>(*hold);
  }
  const Value& leaving_taints = file["nodes"]["leavingTaints"];
  if (!leaving_taints.IsNull()) settings.leaving_taints.clear();
  for (const Value& taint : leaving_taints.items()) {
    settings.leaving_taints.push_back(taint.AsString());
  }
  ApplyRollout(file["roll"], settings.rollout);
  if (const auto window = base::ParseDuration(file["status"]["window"].AsString())) {
    settings.status_window = *window;
  }
  const Value& name_others = file["status"]["nameOthers"];
  if (!name_others.IsNull()) settings.names_others = name_others.AsString() == "Always";
}

}  // namespace

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

std::span<const Field> Fields() { return kFields; }

Result<void> ReadConfiguration(const std::string& text, const std::string& file,
                               Settings& settings) {
  const YAML::Node root = TRY(yaml::ParseOnly(text, file));
  try {
    const Value value = TRY(Reader(file).Read(root));
    if (value["daemons"]["nodeSelector"].Find(api::kDomainLabel) != nullptr) {
      return Fail(ErrorCode::kInvalid, file + ": daemons.nodeSelector: leave out " +
                                           std::string(api::kDomainLabel) +
                                           ", which is the domain's");
    }
    TRY(CheckLeavingTaints(value["nodes"]["leavingTaints"], file));
    Apply(value, settings);
    return {};
  } catch (const YAML::Exception& exception) {  // The checks above should leave none.
    return Fail(ErrorCode::kInvalid, file + ": " + exception.msg);
  }
}

}  // namespace settings
