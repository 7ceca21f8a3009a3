// What an exec plugin printed, kept fresh: the plugin is run again before that expires and when the
// API server rejects it (see ExecSchedule). Requests never wait for it.
//
// Thread-safe, but one thread runs the plugin: RunIfDue() and WaitUntilDue() by turns. While it
// fails the last credential stays, also after it has expired: the API server's word for that is
// 401, and for who comes without any it may be something else. The log says why it fails, each
// cause once, and that what it printed is rejected, once for each run.
#pragma once

#include <condition_variable>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"
#include "pkg/kube/client/exec_plugin.h"
#include "pkg/kube/client/exec_schedule.h"

namespace kube {

class ExecCredentials final : public http::Credentials {
 public:
  using Run = std::function<base::Result<ExecCredential>(const std::stop_token& stop)>;

  // `plugin` is ExecPlugin's Identity(). `clock` and `logger` outlive it.
  ExecCredentials(const std::string& plugin, Run run, const base::Clock& clock,
                  base::Logger& logger);

  std::string BearerToken() override;
  void Invalidate() override;
  [[nodiscard]] std::string Source() const override { return source_; }

  // Blocks for as long as the plugin runs.
  void RunIfDue(const std::stop_token& stop);
  // Blocks until it is due by the clock, or `stop` is requested; may return sooner.
  void WaitUntilDue(const std::stop_token& stop);

  // What there is. An error is why there is none, or why what there was has expired.
  [[nodiscard]] base::Result<ExecCredential> Current() const;
  // The same, but blocks until a first run has ended or `until` has come.
  [[nodiscard]] base::Result<ExecCredential> FirstUntil(base::Clock::TimePoint until) const;

 private:
  using TimePoint = base::Clock::TimePoint;

  void Take(base::Result<ExecCredential> result);
  [[nodiscard]] base::Result<ExecCredential> CurrentLocked() const REQUIRES(mutex_);

  const std::string source_;
  const Run run_;
  const base::Clock& clock_;
  base::Logger& logger_;
  mutable base::Mutex mutex_;
  mutable std::condition_variable_any changed_cv_;
  ExecSchedule pace_ GUARDED_BY(mutex_);
  std::optional<ExecCredential> credential_ GUARDED_BY(mutex_);  // The last good one.
  std::optional<TimePoint> expires_at_ GUARDED_BY(mutex_);       // Of that.
  std::optional<base::Error> error_ GUARDED_BY(mutex_);          // Of the last run, if it failed.
};

}  // namespace kube
