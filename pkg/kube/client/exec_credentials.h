// Keeps the credentials of an exec plugin fresh.
//
// The plugin runs again before its credential expires, and when the API server rejects it (see
// ExecSchedule). Requests never wait for the plugin.
//
// Thread-safe, but one thread must call RunIfDue() and WaitUntilDue() in turn. While the plugin
// fails, the last credential stays in use, even after it expires: for an expired credential the API
// server answers 401, for a missing one it may answer differently. The log has each cause of
// failure once, and a rejected credential once for each run.
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

// Decides when an exec plugin runs again: before its credential expires, after a rejection, and
// after a failure. Minimum intervals limit the load, whatever plugin and server do.
//
// A value, for one thread.
class ExecSchedule {
 public:
  using TimePoint = base::Clock::TimePoint;

  // The first run is due immediately.
  explicit ExecSchedule(TimePoint now) : due_(now) {}

  // Takes the result of a run that has just ended. `life` is how long its credential is valid.
  // Empty if it has no expiry.
  void Succeeded(TimePoint now, std::optional<std::chrono::nanoseconds> life);
  void Failed(TimePoint now);
  // The API server answered 401. Returns true if this is the first 401 after a successful run;
  // otherwise a new run is already due.
  bool Rejected(TimePoint now);

  // When the next run is due. TimePoint::max() if only a rejection makes it due.
  TimePoint due() const { return due_; }

 private:
  TimePoint due_;
  TimePoint succeeded_at_ = {};
  bool is_taken_ = false;  // The last run succeeded, without a rejection since.
  base::Backoff failures_;
  base::Backoff rejections_;  // Of credentials that are rejected soon after a run.
};

class ExecCredentials final : public http::Credentials {
 public:
  using Run = std::function<base::Result<ExecCredential>(const std::stop_token& stop)>;

  // `plugin` is ExecPlugin::Identity(). `clock` and `logger` outlive this object.
  ExecCredentials(const std::string& plugin, Run run, const base::Clock& clock,
                  base::Logger& logger);

  std::string BearerToken() override;
  void Invalidate() override;
  std::string Source() const override { return source_; }

  // Runs the plugin if that is due. Blocks until it ends.
  void RunIfDue(const std::stop_token& stop);
  // Blocks until a run is due or `stop` is requested. May return earlier.
  void WaitUntilDue(const std::stop_token& stop);

  // Returns the last credential. Returns an error if the plugin has printed none, or if it expired
  // and the plugin fails. Blocks until the first run ends, or until `until`.
  base::Result<ExecCredential> FirstUntil(base::Clock::TimePoint until) const;

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
  std::optional<ExecCredential> credential_ GUARDED_BY(mutex_);  // Of the last successful run.
  std::optional<TimePoint> expires_at_ GUARDED_BY(mutex_);       // Of `credential_`.
  std::optional<base::Error> error_ GUARDED_BY(mutex_);  // Of the last run. Empty if it succeeded.
};

}  // namespace kube
