// Prints which pods come and go, and on which nodes: a store that a reflector keeps equal to the
// cluster's pods. See pkg/README.md.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/environment.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/system_random.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/watch_loop.h"
#include "pkg/logging/logger.h"

namespace {

// As much of a pod as this program wants to know.
struct Pod {
  kube::ObjectMeta meta = {};
  std::string node = {};
};

base::Result<Pod> DecodePod(json::View object) {
  return Pod{.meta = TRY(kube::DecodeMeta(object)),
             .node = std::string(object["spec"]["nodeName"].AsString())};
}

void Print(const std::shared_ptr<const Pod>& before, const std::shared_ptr<const Pod>& after) {
  const Pod& pod = after ? *after : *before;
  std::printf("%s %s%s%s\n",
              !before  ? "new"
              : !after ? "gone"
                       : "changed",
              kube::ToString(pod.meta.key).c_str(), pod.node.empty() ? "" : " on ",
              pod.node.c_str());
  std::fflush(stdout);
}

}  // namespace

int main() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const base::SystemClock clock;
  const auto config = kube::LoadConfig({.environment = base::GetEnv}, clock);
  if (!config) {
    std::fprintf(stderr, "watch-pods: %s\n", config.error().message.c_str());
    return EXIT_FAILURE;
  }
  base::SystemRandom random;
  const auto logger = logging::MakeLogger({}, clock);
  kube::Store<Pod> pods(
      DecodePod, [](const Pod& pod) { return std::vector{pod.node}; }, Print, *logger);
  kube::Reflector reflector({.resource = kube::kPods}, pods, random, *logger);

  std::jthread watch([&](const std::stop_token& stop) {
    kube::WatchLoop loop(config->endpoint, *config->credentials, "watch-pods/1", clock);
    loop.Add(reflector);
    loop.Run(stop, [] {});
  });
  int signal = 0;
  sigwait(&signals, &signal);  // The thread ends with this scope.
  return EXIT_SUCCESS;
}
