// compute-domain-controller: flags, signals, and runs; or one command.
// A run follows another until one is final.

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "controller/process/process.h"
#include "controller/settings/settings.h"
#include "controller/uninstall/release_finalizers.h"
#include "pkg/base/heap.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/frame.h"
#include "pkg/http/curl_transport.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"
#include "pkg/kube/runtime/wait.h"
#include "pkg/systemd/notify.h"

namespace {

// For the first answer of an exec plugin. In a run, the waiting thread has other duties.
constexpr auto kPluginPatience = std::chrono::seconds(5);
constexpr auto kPluginPatienceOfACommand = std::chrono::seconds(70);

// Releases the loaded pages of forty libraries. Mostly the dynamic linker and constructors used
// them. Read-only pages are loaded from their file again when they are used.
void GiveLoadedPagesBack() {
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void*) {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        for (int i = 0; i < library->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = library->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
          const std::uintptr_t begin = (library->dlpi_addr + segment.p_vaddr) / page * page;
          const std::uintptr_t end = library->dlpi_addr + segment.p_vaddr + segment.p_memsz;
          // This only saves memory, so a refusal, e.g. for the kernel's own pages, does no harm.
          madvise(std::bit_cast<void*>(begin), end - begin, MADV_DONTNEED);
        }
        return 0;
      },
      nullptr);
}

// Counts losses of the Lease. The process survives a few, because they mean that the API server was
// unreachable, and kubelets restart processes at growing intervals. It ends after many.
class LeaseLosses {
 public:
  // Adds a loss. Returns whether the process may continue.
  bool MayGoOn(base::Clock::TimePoint now) {
    constexpr std::size_t kMost = 5;
    constexpr std::chrono::minutes kWithin{10};
    std::erase_if(losses_, [&](base::Clock::TimePoint loss) { return loss + kWithin < now; });
    losses_.push_back(now);
    return losses_.size() <= kMost;
  }

 private:
  std::vector<base::Clock::TimePoint> losses_;
};

// Waits for a usable configuration. Logs each change of the problem. Empty if `stop` is requested.
std::optional<kube::ClientConfig> WaitForConfig(const process::Context& context,
                                                const std::stop_token& stop) {
  kube::ConfigLoader loader(context.load_config, context.clock, context.logger);
  while (!stop.stop_requested()) {
    if (auto config = loader.Poll({})) return config;
    systemd::Status(loader.error());
    kube::WaitUntil(context.clock, loader.next(), stop);
  }
  return {};
}

std::string Summary(const settings::Settings& settings) {
  std::string additional;
  for (const std::string& ns : settings.additional_namespaces) {
    additional += (additional.empty() ? "" : " ") + ns;
  }
  return command_line::Summary(
      settings, {{"driverNamespace", settings.ns},
                 {"additionalNamespaces", "[" + additional + "]"},
                 {"maxNodesPerIMEXDomain", std::to_string(settings.nodes_per_imex_domain_max)}});
}

// Runs `release-finalizers`.
base::Result<void> ReleaseFinalizers(const settings::Settings& settings,
                                     command_line::Frame& frame) {
  const kube::ClientConfig config = TRY(frame.LoadConfig());
  http::CurlTransport transport(config.endpoint, *config.credentials,
                                base::UserAgent("release-finalizers"));
  const uninstall::UninstallOptions options = {.driver_namespaces = settings.DriverNamespaces(),
                                               .leases = settings.KnownLeases(),
                                               .force = settings.force,
                                               .dry_run = settings.dry_run};
  const auto wait = [&](std::chrono::seconds time) {
    kube::WaitUntil(frame.clock(), frame.clock().Now() + time, frame.stop());
  };
  return uninstall::ReleaseFinalizers(
      options, {.transport = transport, .wait = wait, .say = [](const std::string& line) {
                  std::puts(line.c_str());
                }});
}

}  // namespace

int main(int argc, char** argv) {
  base::LimitHeaps(2);
  const settings::Parsed parsed = settings::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) return command_line::Print(*parsed.exit);
  const settings::Settings& settings = parsed.settings;
  const bool releases = settings.command == settings::Command::kReleaseFinalizers;
  command_line::Frame frame("compute-domain-controller", settings,
                            releases ? kPluginPatienceOfACommand : kPluginPatience);
  if (releases) return command_line::StatusOf(ReleaseFinalizers(settings, frame));
  frame.HandleSignals({SIGTERM, SIGINT});
  base::Logger& logger = frame.logger();
  logger.Info("Starting", {{"version", std::string(base::Version())},
                           {"revision", std::string(base::Revision())},
                           {"namespace", settings.ns},
                           {"image", settings.image},
                           {"election", settings.Elects() ? "on" : "off"},
                           {"settings", Summary(settings)},
                           {"featureGates", settings.feature_gates.ToJson()}});
  command_line::SayUnused(settings.unused_flags, logger);
  api::LogIgnored(settings.IgnoredGates(), logger);
  if (settings.HasTwoWriters()) {
    logger.Warning("NVIDIA's daemons and the controller both write entries of cliques",
                   {{"image", settings.image},
                    {"remedy",
                     "set --membership-writer (MEMBERSHIP_WRITER) to daemon and leave out "
                     "manifests/controller-writes, or run the image cdom-driver"}});
  }

  kube::Fitness fitness;
  const process::Context context = {.settings = settings,
                                    .clock = frame.clock(),
                                    .logger = logger,
                                    .fitness = fitness,
                                    .load_config = [&] { return frame.LoadConfig(); }};
  LeaseLosses losses;
  while (auto config = WaitForConfig(context, frame.stop())) {
    logger.Info("Talking to the API server",
                {{"server", config->endpoint.url}, {"from", config->source}});
    GiveLoadedPagesBack();
    switch (process::Run(context, *std::move(config), frame.stop())) {
      case process::ExitReason::kStopped:
        return 0;
      case process::ExitReason::kLeaseLost:
        if (!losses.MayGoOn(frame.clock().Now())) return command_line::kFailed;
        logger.Error("Lost the Lease, restarting");
        break;
      case process::ExitReason::kStoodDown:
        logger.Error("Released the Lease to NVIDIA's controller, restarting");
        break;
      case process::ExitReason::kCannotServe:
        logger.Error("Released the Lease to another replica, restarting");
        break;
      case process::ExitReason::kOtherMode:
        return command_line::kFailed;
      case process::ExitReason::kConfigChanged:
        logger.Info("The configuration changed, starting again");
        break;
    }
  }
  return 0;
}
