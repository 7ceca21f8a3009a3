#include "controller/process/announcer.h"

#include <chrono>

#include "pkg/systemd/notify.h"

namespace process {

namespace {

constexpr auto kUnableFor = std::chrono::seconds(30);
constexpr const char* kUnable = "Cannot serve";

}  // namespace

std::string Announcer::StateAt(base::Clock::TimePoint now, const std::string& serves,
                               const std::string& why) {
  if (why.empty()) {
    unable_since_.reset();
    return serves;
  }
  unable_since_ = unable_since_.value_or(now);
  if (now - *unable_since_ >= kUnableFor) return kUnable;
  return announced_.empty() ? "Waiting for the caches" : announced_;
}

void Announcer::Report(base::Clock::TimePoint now, const std::string& serves,
                       const std::string& why) {
  const std::string state = StateAt(now, serves, why);
  if (state == announced_) return;
  announced_ = state;
  if (state == kUnable) {
    logger_.Warning(state, {{"why", why}});
    systemd::Status(state + ": " + why);
  } else {
    logger_.Info(state);
    why.empty() ? systemd::Ready(state) : systemd::Status(state);
  }
}

}  // namespace process
