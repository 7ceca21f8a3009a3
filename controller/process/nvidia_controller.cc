#include "controller/process/nvidia_controller.h"

#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/text.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"

namespace process {

namespace {

using Is = NvidiaController::Is;

const kube::Resource kDeployments = {"apps", "v1", "deployments", "Deployment", true};
constexpr int kDeploymentsMax = 500;
constexpr std::string_view kNvidiasProgram = "compute-domain-controller";

// A setting of NVIDIA's controller: a flag wins over its variable.
struct Setting {
  std::string_view flag = {};
  std::string_view variable = {};
  std::string_view default_value = {};
  bool is_switch = false;  // The flag alone means true.
};
constexpr Setting kEnabled = {"-leader-election-enabled", "LEADER_ELECTION_ENABLED", "false", true};
constexpr Setting kLeaseName = {"-leader-election-lease-lock-name",
                                "LEADER_ELECTION_LEASE_LOCK_NAME",
                                "nvidia-compute-domain-controller"};
constexpr Setting kLeaseNamespace = {"-leader-election-lease-lock-namespace",
                                     "LEADER_ELECTION_LEASE_LOCK_NAMESPACE", "default"};

std::vector<std::string_view> WordsOf(json::View container) {
  std::vector<std::string_view> words;
  for (const char* list : {"command", "args"}) {
    container[list].ForEach([&](json::View word) { words.push_back(word.AsString()); });
  }
  return words;
}

// Returns whether a container runs the controller's program, by whatever path.
bool RunsProgram(json::View container) {
  const std::vector<std::string_view> words = WordsOf(container);
  return !words.empty() && words[0].substr(words[0].rfind('/') + 1) == kNvidiasProgram;
}

// A variable whose value is not written in the Deployment counts as empty.
std::string ValueOf(json::View container, const Setting& setting) {
  std::string_view value = setting.default_value;
  container["env"].ForEach([&](json::View variable) {
    if (variable["name"].AsString() == setting.variable) value = variable["value"].AsString();
  });
  const std::vector<std::string_view> words = WordsOf(container);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.starts_with("--")) word.remove_prefix(1);
    if (!word.starts_with(setting.flag)) continue;
    const std::string_view rest = word.substr(setting.flag.size());
    if (rest.starts_with("=")) {
      value = rest.substr(1);
    } else if (rest.empty() && setting.is_switch) {
      value = "true";
    } else if (rest.empty() && i + 1 < words.size()) {
      value = words[i + 1];
    }
  }
  return std::string(value);
}

bool WantsPods(json::View deployment) {
  return deployment["spec"]["replicas"].AsInt().value_or(1) > 0;
}

// Returns whether all pods of the Deployment are of its newest template, and none is left if it
// wants none.
bool IsRolledOut(json::View deployment) {
  const auto number = [](json::View value) { return value.AsInt().value_or(0); };
  const json::View status = deployment["status"];
  const std::int64_t replicas = number(status["replicas"]);
  return number(status["observedGeneration"]) >= number(deployment["metadata"]["generation"]) &&
         number(status["updatedReplicas"]) == replicas && (WantsPods(deployment) || replicas == 0);
}

NvidiaController Judge(json::View deployment, json::View container, const kube::ObjectKey& lease) {
  const json::View meta = deployment["metadata"];
  NvidiaController found;
  found.deployment = {.ns = std::string(meta["namespace"].AsString()),
                      .name = std::string(meta["name"].AsString())};
  const bool elects = base::ParseGoBool(ValueOf(container, kEnabled)).value_or(false);
  if (elects) {
    found.lease = {.ns = ValueOf(container, kLeaseNamespace),
                   .name = ValueOf(container, kLeaseName)};
  }
  if (!WantsPods(deployment)) {
    found.is = IsRolledOut(deployment) ? Is::kAbsent : Is::kChanges;
  } else if (!elects) {
    found.is = Is::kActsAlone;
  } else if (found.lease != lease) {
    found.is = Is::kElectsElsewhere;
  } else {
    found.is = IsRolledOut(deployment) ? Is::kElects : Is::kChanges;
  }
  if (found.is == Is::kAbsent) return {};
  return found;
}

base::Result<NvidiaController> Read(const BesideNvidiaOptions& options,
                                    http::Transport& transport) {
  http::Request request =
      kube::ListRequest(kDeployments, {.ns = options.ns, .limit = kDeploymentsMax});
  request.timeout = options.period;
  const http::Response reply = TRY(kube::CheckStatus(transport.Send(request), request.method));
  json::Parser parser;
  const json::View list = TRY(parser.Parse(reply.body));
  if (!list["metadata"]["continue"].AsString().empty()) {
    return base::Invalid("namespace " + options.ns + " has more than " +
                         std::to_string(kDeploymentsMax) + " Deployments");
  }
  return FindNvidiaController(list, options.lease);
}

}  // namespace

NvidiaController FindNvidiaController(json::View deployments, const kube::ObjectKey& lease) {
  NvidiaController least;
  deployments["items"].ForEach([&](json::View deployment) {
    const json::View pod = deployment["spec"]["template"];
    if (pod["metadata"]["labels"]["app.kubernetes.io/part-of"].AsString() == "cdom") return;
    pod["spec"]["containers"].ForEach([&](json::View container) {
      if (!RunsProgram(container)) return;
      NvidiaController found = Judge(deployment, container, lease);
      if (found.is > least.is) least = std::move(found);
    });
  });
  return least;
}

BesideNvidia::BesideNvidia(BesideNvidiaOptions options, const base::Clock& clock,
                           base::Logger& logger)
    : options_(std::move(options)), clock_(clock), logger_(logger) {}

void BesideNvidia::Look(http::Transport& transport) {
  if (clock_.Now() < next_) return;
  next_ = clock_.Now() + options_.period;
  const base::Result<NvidiaController> found = Read(options_, transport);
  if (!found) {
    if (!failed_) {
      logger_.Warning("Cannot see whether NVIDIA's controller elects, will retry",
                      {{"namespace", options_.ns}, {"err", found.error().message}});
    }
    failed_ = true;
    return;
  }
  failed_ = false;
  if (found_ != *found) Report(*found);
  found_ = *found;
  if (found->is == Is::kActsAlone || found->is == Is::kElectsElsewhere) {
    room_since_.reset();
  } else if (found->is != Is::kChanges && !room_since_) {
    room_since_ = clock_.Now();
  }
}

bool BesideNvidia::MayElect() const {
  return room_since_ && clock_.Now() - *room_since_ >= options_.lease_duration;
}

void BesideNvidia::Report(const NvidiaController& found) {
  const std::string deployment = kube::ToString(found.deployment);
  switch (found.is) {
    case Is::kAbsent:
      logger_.Info("NVIDIA's controller is not there, electing after one Lease duration",
                   {{"namespace", options_.ns}});
      break;
    case Is::kElects:
      logger_.Info("NVIDIA's controller elects on the same Lease, one of both will act",
                   {{"deployment", deployment}, {"lease", kube::ToString(options_.lease)}});
      break;
    case Is::kActsAlone:
      logger_.Error("NVIDIA's controller acts without leader election, standing by until it ends",
                    {{"deployment", deployment},
                     {"remedy",
                      "set controller.leaderElection.enabled=true in NVIDIA's chart, under GPU "
                      "Operator LEADER_ELECTION_ENABLED=true in the controller's env"}});
      break;
    case Is::kElectsElsewhere:
      logger_.Error("NVIDIA's controller elects on another Lease, standing by until it ends",
                    {{"deployment", deployment},
                     {"lease", kube::ToString(found.lease)},
                     {"remedy",
                      "set handover.lease in cdom's chart (LEADER_ELECTION_LEASE_LOCK_NAME) to "
                      "that name; both must be in the same namespace"}});
      break;
    case Is::kChanges:
      logger_.Info("NVIDIA's controller is being rolled out", {{"deployment", deployment}});
      break;
  }
}

}  // namespace process
