// What an exec plugin printed, kept fresh: the plugin is run again before that expires and when the
// API server rejects it (see ExecSchedule). Requests never wait for it.
//
// Thread-safe, but one thread runs the plugin: RunIfDue() and WaitUntilDue() by turns. While it
// fails the last credential stays, also after it has expired: the API server's word for that is
// 401, and for who comes without any it may be something else. The log says why it fails, each
// cause once, and that what it printed is rejected, once for each run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"
#include "pkg/kube/client/exec_plugin.h"

namespace kube {

// When an exec plugin is run again: before what it printed expires, when the API server rejects
// that, and after a failure; never so often that it is a load, whatever plugin and server do.
//
// A value, for one thread.
class ExecSchedule {
 public:
  using TimePoint = base::Clock::TimePoint;

  // The first run is due at once.
  explicit ExecSchedule(TimePoint now) : due_(now) {}

  // The result of a run that has just ended. `life`: for how long its credential is good; empty:
  // for as long as the API server takes it.
  void Succeeded(TimePoint now, std::optional<std::chrono::nanoseconds> life);
  void Failed(TimePoint now);
  // The API server answered 401. Returns whether that is news.
  bool Rejected(TimePoint now);

  // TimePoint::max(): not before a rejection.
  [[nodiscard]] TimePoint due() const { return due_; }

 private:
  TimePoint due_;
  TimePoint succeeded_at_ = {};
  bool is_taken_ = false;  // The last run succeeded, and nothing was rejected since.
  base::Backoff failures_;
  base::Backoff rejections_;  // Of credentials that were rejected soon.
};

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

  // What there is. An error is why there is none, or why what there was has expired. Blocks until a
  // first run has ended or `until` has come.
  [[nodiscard]] base::Result<ExecCredential> FirstUntil(base::Clock::TimePoint until) const;

 private:
  using TimePoint = base::Clock::TimePoint;

  void Take(base::Result<ExecCredential> result);

  const std::string source_;
  const Run run_;
  const base::Clock& clock_;
  base::Logger& logger_;
  mutable base::Mutex mutex_;
  mutable std::condition_variable_any changed_cv_;
  ExecSchedule schedule_ GUARDED_BY(mutex_);
  std::optional<ExecCredential> credential_ GUARDED_BY(mutex_);  // The last good one.
  std::optional<TimePoint> expires_at_ GUARDED_BY(mutex_);       // Of that.
  std::optional<base::Error> error_ GUARDED_BY(mutex_);          // Of the last run, if it failed.
};

}  // namespace kube
