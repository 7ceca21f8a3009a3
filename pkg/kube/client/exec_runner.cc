#include "pkg/kube/client/exec_runner.h"

#include <stop_token>
#include <thread>
#include <utility>

#include "pkg/kube/client/exec_credentials.h"

namespace kube {

struct ExecRunner::Running {
  Running(const ExecPlugin& plugin, const std::vector<std::string>& environment,
          const base::Clock& clock, base::Logger& logger)
      : credentials(
            plugin.Identity(),
            [plugin, environment, &clock](const std::stop_token& stop) {
              return RunExecPlugin(plugin, environment, clock, stop);
            },
            clock, logger),
        started_at(clock.Now()),
        thread([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            credentials.RunIfDue(stop);
            credentials.WaitUntilDue(stop);
          }
        }) {}

  ExecCredentials credentials;
  const base::Clock::TimePoint started_at;
  std::jthread thread;  // Last, because it uses the others.
};

ExecRunner::ExecRunner(std::vector<std::string> environment, std::chrono::milliseconds patience,
                       const base::Clock& clock, base::Logger& logger)
    : environment_(std::move(environment)), patience_(patience), clock_(clock), logger_(logger) {}

base::Result<ExecRunner::User> ExecRunner::Get(const ExecPlugin& plugin) {
  const std::string identity = plugin.Identity();
  All unused;  // Their threads end outside the lock.
  const std::shared_ptr<Running> running = all_.With([&](All& all) {
    for (auto it = all.begin(); it != all.end();) {
      const auto next = std::next(it);
      if (it->first != identity && it->second.use_count() == 1) unused.insert(all.extract(it));
      it = next;
    }
    std::shared_ptr<Running>& found = all[identity];
    if (!found) found = std::make_shared<Running>(plugin, environment_, clock_, logger_);
    return found;
  });
  const ExecCredential credential =
      TRY(running->credentials.FirstUntil(running->started_at + patience_)
              .map_error([&](base::Error error) {
                if (error.code == base::ErrorCode::kUnavailable) {
                  error.message = plugin.where + ": " + plugin.command + ": " + error.message;
                }
                return error;
              }));
  return User{.credentials = {running, &running->credentials},
              .client_certificate_pem = credential.client_certificate_pem,
              .client_key_pem = credential.client_key_pem};
}

}  // namespace kube
