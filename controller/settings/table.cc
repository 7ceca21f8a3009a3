#include "controller/settings/table.h"

#include <algorithm>
#include <array>

#include "pkg/base/duration.h"
#include "pkg/http/listener.h"
#include "pkg/kube/api/names.h"

namespace settings {

namespace {

using json::Value;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr const char* kProcess = "This process and its API server";
constexpr const char* kServing = "Log and endpoints";
constexpr const char* kDaemons = "IMEX daemons";
constexpr const char* kElection = "Leader election";

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  for (const char c : text + ",") {
    if (c != ',' && c != ' ') {
      item += c;
    } else if (!item.empty()) {
      items.push_back(std::move(item));
      item.clear();
    }
  }
  return items;
}

// ---- Functions that add a flag.

template <auto Member>
void Any(CLI::App& app, const Setting& setting, Settings& settings) {
  command_line::Add(app, setting.flag, setting.variable, settings.*Member, setting.help);
}

template <auto Member>
void Required(CLI::App& app, const Setting& setting, Settings& settings) {
  command_line::Add(app, setting.flag, setting.variable, settings.*Member, setting.help)
      ->required();
}

template <auto Member, int kLeast, int kMost>
void Number(CLI::App& app, const Setting& setting, Settings& settings) {
  command_line::Add(app, setting.flag, setting.variable, settings.*Member, setting.help)
      ->check(CLI::Range(kLeast, kMost));
}

// `Read` takes the text, and returns what is wrong with it. Empty if nothing is.
template <auto Read>
void Text(CLI::App& app, const Setting& setting, Settings& settings) {
  app.add_option_function<std::string>(
         setting.flag,
         [flag = setting.flag, &settings](const std::string& text) {
           if (const std::string wrong = Read(text, settings); !wrong.empty()) {
             throw CLI::ValidationError(std::string(flag) + " \"" + text + "\"", wrong);
           }
         },
         setting.help)
      ->envname(setting.variable);
}

template <auto Member>
void List(CLI::App& app, const Setting& setting, Settings& settings) {
  Text<[](const std::string& text, Settings& into) {
    into.*Member = SplitList(text);
    return std::string();
  }>(app, setting, settings);
}

template <auto Set>
void Duration(CLI::App& app, const Setting& setting, Settings& settings) {
  Text<[](const std::string& text, Settings& into) {
    const auto duration = base::ParseDuration(text);
    if (!duration) return duration.error().message;
    Set(*duration, into);
    return std::string();
  }>(app, setting, settings);
}

// Accepts and ignores a flag of NVIDIA's controller, so that its command line works here. Hidden in
// --help. For `Read` see above.
template <auto Read>
void Ignored(CLI::App& app, const Setting& setting, Settings& settings) {
  Text<Read>(app, setting, settings);
  app.get_option(setting.flag)->group(command_line::kIgnored);
}

std::string Anything(const std::string& /*text*/, Settings& /*settings*/) { return {}; }

constexpr const char* kNotANamespace =
    "not a namespace: use up to 63 lower-case letters, digits and -";

// An empty text means the default.
template <auto Member>
void Namespace(CLI::App& app, const Setting& setting, Settings& settings) {
  Text<[](const std::string& text, Settings& into) {
    if (text.empty()) return std::string();
    into.*Member = text;
    return std::string(kube::IsDnsLabel(text) ? "" : kNotANamespace);
  }>(app, setting, settings);
}

std::string ReadAdditionalNamespaces(const std::string& text, Settings& settings) {
  settings.additional_namespaces = SplitList(text);
  return std::ranges::all_of(settings.additional_namespaces, kube::IsDnsLabel) ? ""
                                                                               : kNotANamespace;
}

std::string ReadLeaseName(const std::string& text, Settings& settings) {
  if (text.empty()) return {};
  settings.lease_name = text;
  return kube::IsDnsSubdomain(text) ? "" : "not a name: use lower-case letters, digits, - and .";
}

// "host:port" of a server of this process. The server is off if it is empty.
template <auto Member>
void Endpoint(CLI::App& app, const Setting& setting, Settings& settings) {
  Text<[](const std::string& text, Settings& into) {
    into.*Member = text;
    const auto checked = http::CheckAddress(text);
    return text.empty() || checked ? std::string() : checked.error().message;
  }>(app, setting, settings);
}

// Is added after the certificate, because each needs the other.
void AddMetricsKey(CLI::App& app, const Setting& setting, Settings& settings) {
  CLI::Option* const certificate = app.get_option("--metrics-cert-file");
  CLI::Option* const key = command_line::Add(app, setting.flag, setting.variable,
                                             settings.metrics_key_file, setting.help);
  certificate->needs(key);
  key->needs(certificate);
}

std::string ReadGates(const std::string& text, Settings& settings) {
  auto gates = api::FeatureGates::Read(text);
  if (!gates) return gates.error().message;
  settings.feature_gates = *std::move(gates);
  return {};
}

std::string ReadMembershipWriter(const std::string& text, Settings& settings) {
  settings.controller_writes_membership = text == "controller";
  return text == "controller" || text == "daemon" ? "" : "use daemon or controller";
}

std::string ReadImexMode(const std::string& text, Settings& settings) {
  settings.rules.imex_on_hosts = text == "hostManaged";
  const bool is_known = settings.rules.imex_on_hosts || text.empty() || text == "driverManaged";
  return is_known ? "" : "use driverManaged or hostManaged";
}

std::string ReadImexIsolation(const std::string& text, Settings& /*settings*/) {
  return text.empty() || text == "domain" ? "" : "only domain is supported by this controller";
}

std::string ReadElects(const std::string& text, Settings& settings) {
  settings.elects = text == "true" || text == "1";
  return settings.elects || text == "false" || text == "0" ? "" : "use true or false";
}

// ---- Functions that read a value of the file, which was checked.

milliseconds DurationOf(const Value& value) {
  return base::ParseDuration(value.AsString()).value_or(milliseconds(0));
}
seconds SecondsOf(const Value& value) { return std::chrono::ceil<seconds>(DurationOf(value)); }

// ---- Rows.

constexpr Setting Flag(const char* flag, const char* variable, const char* group, const char* help,
                       decltype(Setting::add) add) {
  return {.flag = flag, .variable = variable, .group = group, .help = help, .add = add};
}
// Flags that other programs have, too.
constexpr Setting Shared(const char* group, decltype(Setting::add) add) {
  return {.group = group, .add = add};
}
constexpr Setting Field(std::string_view path, FieldType type, std::string_view fallback,
                        std::string_view meaning, decltype(Setting::apply) apply = nullptr,
                        std::string_view allowed = {}) {
  return {.path = path,
          .type = type,
          .fallback = fallback,
          .meaning = meaning,
          .allowed = allowed,
          .apply = apply};
}
constexpr Setting Both(Setting flag, const Setting& field) {
  flag.path = field.path;
  flag.type = field.type;
  flag.fallback = field.fallback;
  flag.meaning = field.meaning;
  flag.allowed = field.allowed;
  flag.apply = field.apply;
  return flag;
}

constexpr Setting Advanced(Setting setting) {
  setting.is_advanced = true;
  return setting;
}

using enum FieldType;

constexpr auto kTable = std::to_array<Setting>({
    Flag("--pod-name", "POD_NAME", kProcess, "Name of this pod, for the Lease; required",
         Required<&Settings::pod_name>),
    Flag("--namespace", "NAMESPACE", kProcess, "Namespace of the daemons (default)",
         Namespace<&Settings::ns>),
    Flag("--additional-namespaces", "ADDITIONAL_NAMESPACES", kProcess,
         "Further namespaces with daemons, e.g. of an earlier installation",
         Text<ReadAdditionalNamespaces>),
    Shared(kProcess, [](CLI::App& app, const Setting& /*setting*/,
                        Settings& s) { command_line::AddKubeconfig(app, s); }),
    Flag("--config", "CONFIG", kProcess,
         "Path of a ControllerConfiguration, as docs/configuration.md describes it",
         Any<&Settings::config>),
    Flag("--workers", "WORKERS", kProcess,
         "Number of domains that are reconciled at the same time (32)",
         Number<&Settings::workers, 1, 64>),
    Flag("--kube-api-qps", "KUBE_API_QPS", kProcess,
         "Accepted and ignored: requests are not limited by number", Ignored<Anything>),
    Flag("--kube-api-burst", "KUBE_API_BURST", kProcess, "Accepted and ignored, as --kube-api-qps",
         Ignored<Anything>),
    Flag("--feature-gates", "FEATURE_GATES", kProcess,
         "NVIDIA's feature gates as name=bool, separated by commas. Unknown gates are ignored",
         Text<ReadGates>),
    Flag("--dry-run", "DRY_RUN", kProcess, "Log each write, and write nothing, not even the Lease",
         [](CLI::App& app, const Setting& setting, Settings& s) {
           app.add_flag(setting.flag, s.dry_run, setting.help)->envname(setting.variable);
         }),
    Flag("--http-endpoint", "HTTP_ENDPOINT", kServing,
         "host:port of health checks, and of metrics without names of users' objects (off)",
         Endpoint<&Settings::http_endpoint>),
    Flag("--debug-endpoint", "DEBUG_ENDPOINT", kServing,
         "host:port of /debug/domains and /debug/cliques, which name all users' objects; empty: "
         "off (127.0.0.1:8081)",
         Endpoint<&Settings::debug_endpoint>),
    Flag("--metrics-path", "METRICS_PATH", kServing, "Path of the metrics; empty: off (/metrics)",
         Any<&Settings::metrics_path>),
    Flag("--metrics-secure-port", "METRICS_SECURE_PORT", kServing,
         "Port of all metrics, with names of domains and nodes, over TLS, for bearer tokens that "
         "may get the path; 0: off (0)",
         Number<&Settings::metrics_secure_port, 0, 65'535>),
    Flag("--metrics-cert-file", "METRICS_CERT_FILE", kServing,
         "PEM file of that port's certificate, read again when it changes. Needs the key (a "
         "self-signed certificate)",
         Any<&Settings::metrics_cert_file>),
    Flag("--metrics-key-file", "METRICS_KEY_FILE", kServing,
         "PEM file of the certificate's key. Needs the certificate (a new key)", AddMetricsKey),
    Flag("--pprof-path", "PPROF_PATH", kServing, "Accepted and ignored: there are no profiles",
         Ignored<Anything>),
    Shared(kServing, [](CLI::App& app, const Setting& /*setting*/,
                        Settings& s) { command_line::AddLogging(app, s); }),
    Flag("--image-name", "IMAGE_NAME", kDaemons, "Image of the IMEX daemons; required",
         Required<&Settings::image>),
    Field("daemons.priorityClassName", kText, "system-node-critical",
          "Priority class of the daemon pods. With the default they are scheduled first and not "
          "evicted, and need no quota. Empty: the cluster's default class",
          [](const Value& v, Settings& s) { s.rules.daemons.priority_class = v.AsString(); }),
    Field("daemons.resources.requests", kQuantities, "none",
          "Resource requests of a daemon, e.g. `{cpu: 100m, memory: 256Mi}`. If a job's pods "
          "request all of a node, the daemon preempts them"),
    Field("daemons.resources.limits", kQuantities, "none",
          "Resource limits of a daemon. A memory limit that is too low ends IMEX, and with it the "
          "jobs of all peers"),
    Field(
        "daemons.imagePullPolicy", kText, "Kubernetes' own", "Pull policy of the daemons' image",
        [](const Value& v, Settings& s) { s.rules.daemons.image_pull_policy = v.AsString(); },
        "Always|IfNotPresent|Never"),
    Both(Flag("--cd-daemon-image-pull-secret-names", "CD_DAEMON_IMAGE_PULL_SECRET_NAMES", kDaemons,
              "Names of the daemons' pull secrets, separated by commas or spaces",
              List<&Settings::pull_secrets>),
         Field("daemons.imagePullSecrets", kTexts, "none",
               "Names of the daemons' pull secrets in the driver namespace. The flag "
               "`--cd-daemon-image-pull-secret-names` takes precedence",
               [](const Value& v, Settings& s) { s.pull_secrets = v.AsTexts(); })),
    Field("daemons.tolerations[].key", kText, "any",
          "Taint that the daemons tolerate. Without `daemons.tolerations` they tolerate every "
          "taint, with an empty list none"),
    Field("daemons.tolerations[].operator", kText, "Equal", "Comparison with the taint's value",
          nullptr, "Equal|Exists"),
    Field("daemons.tolerations[].value", kText, "empty", "Value of the taint"),
    Field("daemons.tolerations[].effect", kText, "any", "Effect of the taint", nullptr,
          "NoSchedule|NoExecute|PreferNoSchedule"),
    Field("daemons.tolerations[].tolerationSeconds", kInteger, "for ever",
          "Seconds for which a NoExecute taint is tolerated"),
    Field("daemons.dnsConfig.nameservers", kTexts, "none", "Further name servers"),
    Field("daemons.dnsConfig.searches", kTexts, "none", "Further search domains"),
    Field("daemons.dnsConfig.options[].name", kText, "ndots",
          "Option of the resolver. Without `daemons.dnsConfig` it is `ndots` with value `1`: a "
          "name with a dot is first looked up unchanged. Names of peers have no dot, and cdom's "
          "daemon has them all in its hosts file"),
    Field("daemons.dnsConfig.options[].value", kText, "1", "Value of the option"),
    Advanced(Field("daemons.securityContext.runAsUser", kInteger, "the image's",
                   "User of the daemon's container")),
    Advanced(Field("daemons.securityContext.runAsGroup", kInteger, "the image's",
                   "Group of the daemon's container")),
    Advanced(Field("daemons.securityContext.runAsNonRoot", kFlag, "false",
                   "Whether Kubernetes refuses to start the container as root")),
    Advanced(Field("daemons.securityContext.privileged", kFlag, "false",
                   "Whether the container is privileged. No daemon needs it")),
    Advanced(Field("daemons.securityContext.allowPrivilegeEscalation", kFlag,
                   "true (cdom's daemon: false)",
                   "Whether a process may gain privileges. The defaults in parentheses are for "
                   "`--membership-writer=controller`")),
    Advanced(Field(
        "daemons.securityContext.readOnlyRootFilesystem", kFlag, "false (cdom's daemon: true)",
        "Whether the root file system is read-only. NVIDIA's daemon writes its statistics to "
        "`/var/log`. cdom's daemon gets a volume for `/run`, `/tmp` and `/var/log`")),
    Advanced(
        Field("daemons.securityContext.capabilities.add", kTexts, "none", "Added capabilities")),
    Advanced(Field("daemons.securityContext.capabilities.drop", kTexts, "none (cdom's daemon: ALL)",
                   "Dropped capabilities")),
    Advanced(Field("daemons.securityContext.seccompProfile.type", kText,
                   "Kubernetes' own (cdom's daemon: RuntimeDefault)", "Filter of system calls",
                   nullptr, "RuntimeDefault|Unconfined|Localhost")),
    Advanced(Field("daemons.securityContext.seccompProfile.localhostProfile", kText, "none",
                   "Path of the profile on the node, for type `Localhost`")),
    Field("daemons.seLinuxOptions.user", kText, "the runtime's", "SELinux user of the container"),
    Field("daemons.seLinuxOptions.role", kText, "the runtime's", "SELinux role of the container"),
    Field("daemons.seLinuxOptions.type", kText, "the runtime's", "SELinux type of the container"),
    Field("daemons.seLinuxOptions.level", kText, "the runtime's", "SELinux level of the container"),
    Field("daemons.schedulerName", kText, "Kubernetes' own",
          "Scheduler that places the daemon pods",
          [](const Value& v, Settings& s) { s.rules.daemons.scheduler_name = v.AsString(); }),
    Field("daemons.nodeSelector", kMap, "none",
          "Node labels of the daemons, in addition to the domain's label",
          [](const Value& v, Settings& s) { s.rules.daemons.node_selector = v; }),
    Field("daemons.imex.nodeDisconnectedGraceTime", kInteger, "-1",
          "Seconds for which IMEX keeps the memory of a lost peer; -1: no limit. NVIDIA's daemon "
          "ignores it",
          [](const Value& v, Settings& s) {
            s.rules.daemons.environment.emplace_back("IMEX_NODE_DISCONNECTED_GRACE_TIME",
                                                     std::to_string(v.AsInt().value_or(-1)));
          }),
    Field("daemons.imex.authEncryption", kFlag, "false",
          "Whether IMEX authenticates its peers by TLS and encrypts its traffic. Needs "
          "`daemons.imex.authSecret`: without keys cdom's daemon does not start IMEX. NVIDIA's "
          "daemon ignores it and does not encrypt",
          [](const Value& v, Settings& s) {
            s.rules.daemons.environment.emplace_back("IMEX_ENABLE_AUTH_ENCRYPTION",
                                                     v.AsBool() ? "1" : "0");
          }),
    Field("daemons.imex.authSecret", kText, "none",
          "Secret in the driver namespace with `tls.key`, `tls.crt` and `ca.crt`. Its name begins "
          "with `cdom-imex-`, or the policy `cdom-controller-account` refuses it. All daemons use "
          "it. The certificate must name `compute-domain-daemon-0000`, for which daemons ask each "
          "other",
          [](const Value& v, Settings& s) { s.rules.daemons.keys_secret = v.AsString(); }),
    Flag("--max-nodes-per-imex-domain", "MAX_NODES_PER_IMEX_DOMAIN", kDaemons,
         "Maximum number of nodes in a clique (18)",
         Number<&Settings::nodes_per_imex_domain_max, 1, 10'000>),
    Flag("--log-verbosity-cd-daemon", "LOG_VERBOSITY_CD_DAEMON", kDaemons,
         "Log verbosity of the daemons (0)", Number<&Settings::daemon_log_verbosity, 0, 10>),
    Flag("--membership-writer", "MEMBERSHIP_WRITER", kDaemons,
         "Component that writes clique entries [daemon, controller]. daemon: for NVIDIA's image; "
         "controller: for the image cdom-driver (daemon)",
         Text<ReadMembershipWriter>),
    Both(Flag("--deletion-grace", "DELETION_GRACE", kDaemons,
              "Grace period of a deletion: how long it waits for pods that use the domain (10m)",
              Duration<[](milliseconds time, Settings& s) {
                s.rules.deletion_grace = std::chrono::ceil<seconds>(time);
              }>),
         Field("deletion.grace", kDuration, "10m",
               "Grace period of a deletion: how long it waits for pods that use the domain. The "
               "flag `--deletion-grace` takes precedence",
               [](const Value& v, Settings& s) { s.rules.deletion_grace = SecondsOf(v); })),
    Advanced(Field("membership.indexHold", kDuration, "60s",
                   "How long an index is reserved for a node that left, with "
                   "`--membership-writer=controller`; 0: not at all",
                   [](const Value& v, Settings& s) { s.rules.index_hold = SecondsOf(v); })),
    Field("nodes.leavingTaints", kTexts,
          "`ToBeDeletedByClusterAutoscaler`, `karpenter.sh/disrupted`, "
          "`cloud.google.com/impending-node-termination`, `aws-node-termination-handler/*`, "
          "`node.kubernetes.io/out-of-service`",
          "Keys of taints that announce that a node leaves (`NodeLeaving`). `/*` at the end "
          "matches all keys of a prefix. Taints with effect PreferNoSchedule are ignored. A "
          "cordoned node always counts as leaving",
          [](const Value& v, Settings& s) { s.rules.leaving_taints = v.AsTexts(); }),
    Advanced(Field(
        "roll.policy", kText, "WhenIdle",
        "When a daemon of an older template is replaced. WhenIdle: when no claim of its domain is "
        "on a node of its clique. Always: also under a job, which this ends. The annotation "
        "`cdom.dev/daemon-roll` of a domain takes precedence",
        [](const Value& v, Settings& s) {
          using compute_domain::RolloutPolicy;
          s.rules.rollout.policy =
              v.AsString() == "Always" ? RolloutPolicy::kAlways : RolloutPolicy::kWhenIdle;
        },
        "WhenIdle|Always")),
    Advanced(Field(
        "roll.cliques", kInteger, "3",
        "Maximum number of cliques in the cluster in which daemons are replaced at the same time",
        [](const Value& v, Settings& s) {
          s.rules.rollout.cliques_max =
              static_cast<int>(std::clamp<std::int64_t>(v.AsInt().value_or(0), 0, 1000));
        })),
    Advanced(Field("roll.settle", kDuration, "10s",
                   "How long a replacement must be ready before the next daemon is replaced",
                   [](const Value& v, Settings& s) { s.rules.rollout.settle = SecondsOf(v); })),
    Advanced(
        Field("roll.deadline", kDuration, "5m",
              "A replacement that is not ready after this time stops the rollout in all domains",
              [](const Value& v, Settings& s) { s.rules.rollout.deadline = SecondsOf(v); })),
    Advanced(
        Field("status.window", kDuration, "500ms",
              "Changes of a status or a clique within this time after a write are written "
              "together. A loss of readiness waits less: 100 ms, and 1 ms more for each member",
              [](const Value& v, Settings& s) { s.rules.status_window = DurationOf(v); })),
    Field(
        "status.nameOthers", kText, "SameNamespace",
        "Whether conditions and Events of a domain name blocking objects of other namespaces, or "
        "only say that they exist. `/debug/domains` always names them",
        [](const Value& v, Settings& s) { s.rules.names_others = v.AsString() == "Always"; },
        "SameNamespace|Always"),
    Flag(
        "--imex-mode", "IMEX_MODE", kDaemons,
        "Where IMEX runs [driverManaged, hostManaged]. driverManaged: in daemon pods; hostManaged: "
        "as a service of the hosts, with the feature gate HostManagedIMEXDaemon (driverManaged)",
        Text<ReadImexMode>),
    Flag("--imex-isolation", "IMEX_ISOLATION", kDaemons,
         "Accepted for NVIDIA's chart; only domain is supported (domain)",
         Ignored<ReadImexIsolation>),
    Flag("--leader-election-enabled", "LEADER_ELECTION_ENABLED", kElection,
         "Elect a leader among several replicas (true)", Text<ReadElects>),
    Flag("--leader-election-lease-lock-name", "LEADER_ELECTION_LEASE_LOCK_NAME", kElection,
         "Name of the Lease (cdom-controller)", Text<ReadLeaseName>),
    Flag("--leader-election-lease-lock-namespace", "LEADER_ELECTION_LEASE_LOCK_NAMESPACE",
         kElection, "Namespace of the Lease (the value of --namespace)",
         Namespace<&Settings::lease_namespace>),
    Flag("--leader-election-lease-duration", "LEADER_ELECTION_LEASE_DURATION", kElection,
         "How long other replicas wait for a leader that does not renew (15s)",
         Duration<[](milliseconds time, Settings& s) { s.lease.lease_duration = time; }>),
    Flag("--leader-election-renew-deadline", "LEADER_ELECTION_RENEW_DEADLINE", kElection,
         "How long a leader acts after its last renewal (10s)",
         Duration<[](milliseconds time, Settings& s) { s.lease.renew_deadline = time; }>),
    Flag("--leader-election-retry-period", "LEADER_ELECTION_RETRY_PERIOD", kElection,
         "Time between attempts to acquire or renew the Lease (2s)",
         Duration<[](milliseconds time, Settings& s) { s.lease.retry_period = time; }>),
    Flag("--beside-nvidia", "BESIDE_NVIDIA", kElection,
         "NVIDIA's controller is in the driver namespace, too: elect only while its Deployment "
         "elects on the same Lease, or does not exist",
         [](CLI::App& app, const Setting& setting, Settings& s) {
           app.add_flag(setting.flag, s.beside_nvidia, setting.help)->envname(setting.variable);
         }),
});

template <auto Member>
void CopyJson(const Value& value, Settings& settings) {
  settings.rules.daemons.*Member = value;
}

constexpr std::array kMaps = {
    Map{"daemons.resources", CopyJson<&daemon_set::DaemonSetSettings::resources>},
    Map{"daemons.tolerations", CopyJson<&daemon_set::DaemonSetSettings::tolerations>},
    Map{"daemons.dnsConfig", CopyJson<&daemon_set::DaemonSetSettings::dns_config>},
    Map{"daemons.securityContext", CopyJson<&daemon_set::DaemonSetSettings::security_context>},
    Map{"daemons.seLinuxOptions",
        [](const Value& value, Settings& s) {
          s.rules.daemons.security_context["seLinuxOptions"] = value;
        }},
};

}  // namespace

std::span<const Setting> Table() { return kTable; }

std::span<const Map> Maps() { return kMaps; }

}  // namespace settings
