#include "node/plugin/preflight/probe.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "node/dra/preflight/wait.h"
#include "node/driver/kernel.h"
#include "node/nvml/library.h"
#include "node/plugin/host/base_spec.h"
#include "node/plugin/host/host.h"
#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/file.h"

namespace plugin {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextMax = 64U << 10;
constexpr const char* kUnit = "/system.slice/nvidia-imex.service";

void ProbeDriver(const Settings& settings, NodeProbe& found) {
  const auto read = [&]() -> base::Result<void> {
    const std::string file = TRY(nvml::FindLibrary(settings.driver_root, settings.library_folders));
    const nvml::Library library = TRY(nvml::Library::Open(file));
    found.driver_version = TRY(library.DriverVersion());
    found.library = file;
    found.fabrics = TRY(library.Fabrics());
    const HostNeeds needs = {.strictness = settings.crash_on_fabric_errors
                                               ? nvml::Strictness::kAllAttached
                                               : nvml::Strictness::kOnlyAttached,
                             .partitions = settings.partitions};
    const auto clique = nvml::CliqueOf(found.fabrics, StrictnessOn(settings.driver_root, needs));
    found.fabric_health = nvml::HealthTrouble(found.fabrics);
    if (!clique) {
      const bool is_broken = clique.error().code == base::ErrorCode::kInvalid;
      found.fabric = is_broken ? NodeProbe::Fabric::kBroken : NodeProbe::Fabric::kForming;
      found.fabric_trouble = clique.error().message;
    } else {
      found.fabric = clique->empty() ? NodeProbe::Fabric::kNone : NodeProbe::Fabric::kJoined;
    }
    return {};
  }();
  if (!read) found.library_trouble = read.error().message;
  const auto devices = base::ReadFile(settings.DevicesPath(), kTextMax);
  found.has_channels = devices && driver::MajorOf(*devices, "nvidia-caps-imex-channels");
  found.has_management = base::ReadFile(settings.CapabilityPath(), kTextMax).has_value();
}

bool RunsOnHost(const std::string& cgroups) {
  for (const char* above : {"", "/unified"}) {
    const auto events = base::ReadFile(cgroups + above + kUnit + "/cgroup.events", kTextMax);
    if (events && events->find("populated 1") != std::string::npos) return true;
  }
  // Version 1 does not report processes in other namespaces. systemd removes the folder when the
  // last process has ended.
  std::error_code error;
  return fs::is_directory(cgroups + "/systemd" + kUnit, error);
}

void ProbeImex(const ProbeContext& context, NodeProbe& found) {
  const Settings& settings = context.settings;
  const driver::DriverFiles files = FindDaemonFiles({.root = settings.driver_root,
                                                     .version = found.driver_version,
                                                     .folders = settings.library_folders});
  if (!found.driver_version.empty()) {
    found.files_trouble =
        driver::LibrariesTrouble(files, settings.driver_root, found.driver_version);
  }
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(files.programs, [&](const driver::DriverFiles::File& program) {
      return program.path.ends_with("/" + name);
    });
  };
  found.has_imex = has("nvidia-imex");
  found.has_ctl = has("nvidia-imex-ctl");
  std::error_code error;
  found.has_socket = fs::is_socket(settings.driver_root + settings.imex_socket, error);
  found.runs_on_host = RunsOnHost(settings.host_cgroups);
  if (!found.has_imex || settings.host_managed) return;
  const auto printed =
      driver::RunInRoot(settings.driver_root, {"nvidia-imex", "--version"}, context.clock, {});
  found.imex_version = ImexVersionIn(printed.value_or(""));
}

}  // namespace

NodeProbe ProbeNode(const ProbeContext& context) {
  const Settings& settings = context.settings;
  NodeProbe found = {
      .driver_root = settings.host_driver_root,
      .imex_socket = settings.imex_socket,
      .cdi_trouble = dra::CdiTrouble(settings.cdi_folder),
      .runtime = context.runtime(),
      .host_managed = settings.host_managed,
      .has_prepared = dra::HasPrepared<CheckpointClaim>(settings.Folder(), settings.boot_id)};
  ProbeDriver(settings, found);
  ProbeImex(context, found);
  return found;
}

base::Result<void> WaitForNode(const ProbeContext& context) {
  const auto look = [&]() -> dra::Look {
    const NodeProbe found = ProbeNode(context);
    return {.facts = context.settings.preflight_facts ? FactsOf(found) : std::vector<std::string>(),
            .findings = Preflight(found),
            .has = "driver " + (found.driver_version.empty() ? "unknown" : found.driver_version) +
                   (found.runtime.empty() ? "" : ", " + found.runtime)};
  };
  return dra::WaitForNode({.clock = context.clock,
                           .most = std::chrono::seconds(context.settings.preflight_wait),
                           .say = context.say,
                           .pause = context.pause},
                          look);
}

}  // namespace plugin
