// Log of domains whose reconcile fails. Thread-safe.
#pragma once

#include <map>
#include <string>

#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// Logs an error of a domain once, and again when its message changes. Every retry logs at
// LogLevel::kObjects.
class ErrorLog {
 public:
  explicit ErrorLog(base::Logger& logger) : logger_(logger) {}

  // `name` is "namespace/name" of the domain.
  void Failed(const kube::Uid& uid, const std::string& name, const base::Error& error) {
    const bool is_new = said_.With([&](auto& said) {
      std::string& before = said[uid];
      if (before == error.message) return false;
      before = error.message;
      return true;
    });
    // A conflict only means that the cache was stale. The next pass has a fresh one.
    const bool expected = error.code == base::ErrorCode::kConflict;
    if (is_new && !expected) {
      logger_.Error("Reconcile failed and is tried again",
                    {{"domain", name}, {"uid", uid}, {"err", error.message}});
    } else {
      logger_.Log(base::LogLevel::kObjects, "Reconcile failed",
                  {{"domain", name}, {"uid", uid}, {"err", error.message}});
    }
  }
  void Succeeded(const kube::Uid& uid) {
    said_.With([&](auto& said) { said.erase(uid); });
  }

 private:
  base::Logger& logger_;
  base::Guarded<std::map<std::string, std::string>> said_;
};

}  // namespace compute_domain
