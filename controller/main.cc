// compute-domain-controller: flags, signals, and one run after the other until one is final; or one
// command.

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "controller/process/process.h"
#include "controller/settings/settings.h"
#include "controller/uninstall/release_finalizers.h"
#include "pkg/base/environment.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/signals.h"
#include "pkg/http/curl_transport.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/client/exec_runner.h"
#include "pkg/kube/runtime/api_session.h"
#include "pkg/kube/runtime/wait.h"
#include "pkg/logging/logger.h"
#include "pkg/systemd/notify.h"

namespace {

// For the first answer of an exec plugin. The thread that waits has other duties in the controller.
constexpr auto kPluginPatience = std::chrono::seconds(5);
constexpr auto kPluginPatienceOfACommand = std::chrono::seconds(70);

// Pages of lists come and go by the megabyte, and each worker has its own. By default glibc learns
// to keep such blocks on its heaps, of which every thread may have one, between what stays.
void GiveLargeBlocksBack() {
  constexpr int kLarge = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_ARENA_MAX, 2);
}

// Most of what has been touched of forty libraries by now, the dynamic linker and their
// constructors needed, and nobody else will. What is read-only comes back from its file when used.
void GiveLoadedPagesBack() {
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void*) {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        for (int i = 0; i < library->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = library->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
          const std::uintptr_t begin = (library->dlpi_addr + segment.p_vaddr) / page * page;
          const std::uintptr_t end = library->dlpi_addr + segment.p_vaddr + segment.p_memsz;
          // It only saves memory: where it is refused, as for the kernel's own pages, all is well.
          madvise(std::bit_cast<void*>(begin), end - begin, MADV_DONTNEED);
        }
        return 0;
      },
      nullptr);
}

// A Lease that is lost now and then is an API server that was away, and no reason to end: whoever
// restarts a process waits longer each time. One that is lost again and again is something else.
class LeaseLosses {
 public:
  // Whether to go on.
  [[nodiscard]] bool Counts(base::Clock::TimePoint now) {
    constexpr std::size_t kMost = 5;
    constexpr std::chrono::minutes kWithin{10};
    std::erase_if(losses_, [&](base::Clock::TimePoint loss) { return loss + kWithin < now; });
    losses_.push_back(now);
    return losses_.size() <= kMost;
  }

 private:
  std::vector<base::Clock::TimePoint> losses_;
};

// Waits for a configuration that can be used; says what is wrong each time that changes.
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

// Runs `release-finalizers`. Returns the exit status.
int ReleaseFinalizers(const settings::Settings& settings, const base::Clock& clock,
                      base::Logger& logger, const std::stop_token& stop) {
  const auto fail = [](const base::Error& error) {
    std::fputs((error.message + "\n").c_str(), stderr);
    return command_line::kFailed;
  };
  kube::ExecRunner exec(base::Environment(), kPluginPatienceOfACommand, clock, logger);
  auto config = kube::LoadConfig(
      {.kubeconfig = settings.kubeconfig, .environment = base::GetEnv, .exec = &exec}, clock);
  if (!config) return fail(config.error());
  http::CurlTransport transport(config->endpoint, *config->credentials,
                                base::UserAgent("release-finalizers"));
  const uninstall::Options options = {
      .driver_namespaces = settings.DriverNamespaces(),
      .lease = {.ns = settings.lease_namespace, .name = settings.lease_name},
      .force = settings.force,
      .dry_run = settings.dry_run};
  const auto released = uninstall::ReleaseFinalizers(
      options,
      {.transport = transport,
       .wait = [&](std::chrono::seconds time) { kube::WaitUntil(clock, clock.Now() + time, stop); },
       .say = [](const std::string& line) { std::puts(line.c_str()); }});
  return released ? 0 : fail(released.error());
}

}  // namespace

int main(int argc, char** argv) {
  GiveLargeBlocksBack();
  const settings::Parsed parsed = settings::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) {
    std::fputs(parsed.exit->text.c_str(), parsed.exit->status == 0 ? stdout : stderr);
    return parsed.exit->status;
  }
  const settings::Settings& settings = parsed.settings;
  const base::SystemClock clock;
  std::stop_source stop;
  const auto logger = logging::MakeLogger({.format = *logging::ParseFormat(settings.log_format),
                                           .verbosity = settings.verbosity,
                                           .identifier = "compute-domain-controller"},
                                          clock);
  std::signal(SIGCHLD, SIG_DFL);  // Or how an exec plugin ends is hidden, if it was ignored.
  if (settings.command == settings::Command::kReleaseFinalizers) {
    return ReleaseFinalizers(settings, clock, *logger, stop.get_token());
  }
  const std::jthread signals = command_line::HandleSignals(
      {.ends = {SIGTERM, SIGINT}, .end = [&] { stop.request_stop(); }}, *logger);
  logger->Info("Starting", {{"version", std::string(base::Version())},
                            {"revision", std::string(base::Revision())},
                            {"namespace", settings.ns},
                            {"image", settings.image},
                            {"election", settings.elects ? "on" : "off"}});
  command_line::SayUnused(settings.unused_flags, *logger);

  kube::ExecRunner exec(base::Environment(), kPluginPatience, clock, *logger);
  const process::Context context = {
      .settings = settings, .clock = clock, .logger = *logger, .load_config = [&] {
        return kube::LoadConfig(
            {.kubeconfig = settings.kubeconfig, .environment = base::GetEnv, .exec = &exec}, clock);
      }};
  LeaseLosses losses;
  while (auto config = WaitForConfig(context, stop.get_token())) {
    logger->Info("Talking to the API server",
                 {{"server", config->endpoint.url}, {"from", config->source}});
    GiveLoadedPagesBack();
    switch (process::Run(context, *std::move(config), stop.get_token())) {
      case process::ExitReason::kStopped:
        return 0;
      case process::ExitReason::kLeaseLost:
        if (!losses.Counts(clock.Now())) return command_line::kFailed;
        logger->Error("The Lease was lost; starting over, so that nothing of this term survives");
        break;
      case process::ExitReason::kOtherMode:
        return command_line::kFailed;
      case process::ExitReason::kConfigChanged:
        logger->Info("The configuration has changed; starting over with it");
        break;
    }
  }
  return 0;
}
