#include "node/gpu/settings.h"

#include <map>

#include "node/gpu/api/gpu_api.h"
#include "node/gpu/rules/claim.h"
#include "pkg/command_line/flags.h"

namespace gpu {

namespace {

using command_line::Add;

constexpr int kWaitMost = 3600;

void AddPublished(CLI::App& app, Settings& settings, std::string& gates) {
  Add(app, "--publish-numa-node", "PUBLISH_NUMA_NODE", settings.publishes_numa_node,
      "Publish each GPU's resource.kubernetes.io/numaNode (false)");
  Add(app, "--publish-clique", "PUBLISH_CLIQUE", settings.publishes_clique,
      "Publish each GPU's NVLink clique as cdom.dev/clique (false)");
  Add(app, "--feature-gates", "FEATURE_GATES", gates,
      "NVIDIA's feature gates as name=bool, separated by commas. Those of sharing, MIG and health "
      "have no effect");
}

void AddPreflight(CLI::App& app, Settings& settings) {
  app.add_subcommand("preflight",
                     "Lists what this node lacks, with the fix, and exits. For an init container")
      ->fallthrough()
      ->callback([&settings] { settings.command = Command::kPreflight; });
  app.option_defaults()->group("Preflight");
  Add(app, "--preflight-wait", "PREFLIGHT_WAIT", settings.preflight_wait,
      "Seconds to wait for what is missing, before it fails (0)")
      ->check(CLI::Range(0, kWaitMost));
}

// Flags of NVIDIA's plugin that are for what this one does not do.
void AddIgnored(CLI::App& app, std::map<std::string, std::string>& values) {
  const std::map<std::string, const char*> flags = {
      {"--image-name", "IMAGE_NAME"},
      {"--image-pull-policy", "IMAGE_PULL_POLICY"},
      {"--image-pull-secrets", "IMAGE_PULL_SECRETS"},
      {"--service-account-name", "SERVICE_ACCOUNT_NAME"},
      {"--host-root", "HOST_ROOT"},
      {"--additional-xids-to-ignore", "ADDITIONAL_XIDS_TO_IGNORE"},
      {"--consumable-shares", "CONSUMABLE_SHARES"}};
  for (const auto& [flag, variable] : flags) {
    Add(app, flag.c_str(), variable, values[flag], "Accepted and ignored")
        ->group(command_line::kIgnored);
  }
}

}  // namespace

std::string Settings::Folder() const { return FolderOf(kDriver); }

std::string Settings::CapabilitiesPath() const {
  constexpr const char* kPath = "/proc/driver/nvidia/capabilities";
  return devices.empty() ? kPath : driver_root + kPath;
}

std::string Settings::SysfsPath() const { return devices.empty() ? "/sys" : driver_root + "/sys"; }

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app(
      "Publishes a node's GPUs, and prepares claims for them, for the kubelet of one node.",
      std::string(kProgram));
  std::string gates;
  std::map<std::string, std::string> ignored;
  dra::DriverFlags flags(parsed.settings);
  command_line::SetUpApp(app, kExitStatuses);
  app.option_defaults()->group("Node and GPUs");
  flags.AddNode(app, " (default)");
  AddPublished(app, parsed.settings, gates);
  flags.AddPlaces(app, ". Capabilities and sysfs are then searched under the driver's root");
  AddPreflight(app, parsed.settings);
  flags.AddSeen(app, "8080");
  AddIgnored(app, ignored);
  parsed.exit = command_line::Parse(app, arguments);
  if (parsed.exit) return parsed;
  std::string wrong = flags.Finish();
  if (wrong.empty()) {
    auto read = api::FeatureGates::Read(gates);
    if (!read) wrong = "--feature-gates (FEATURE_GATES): " + read.error().message;
    if (read) parsed.settings.feature_gates = *std::move(read);
  }
  if (!wrong.empty()) parsed.exit = command_line::Misused(wrong + "\n");
  return parsed;
}

}  // namespace gpu
