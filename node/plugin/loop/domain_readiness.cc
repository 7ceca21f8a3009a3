#include "node/plugin/loop/domain_readiness.h"

#include <algorithm>

#include "controller/api/names.h"
#include "pkg/base/subprocess.h"

namespace plugin {

namespace {

// For the watch to have read it.
constexpr std::chrono::milliseconds kWatchTime{300};
constexpr std::chrono::milliseconds kPauseFirst{250};
constexpr std::chrono::milliseconds kPauseMost{2'000};
constexpr std::chrono::milliseconds kHostPause{1'000};
constexpr std::chrono::seconds kHostTime{5};
constexpr std::size_t kHostWordsMax = 4096;

// What the program prints, without the white space around it.
std::string Trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

bool DomainReadiness::IsReady(const std::string& domain) {
  const TimePoint now = state_.clock.Now();
  if (state_.self.host_managed) return IsHost();
  if (domain_ != domain) {
    domain_ = domain;
    since_ = now;
    pause_ = kPauseFirst;
    poll_next_ = {};
    polled_ = false;
  }
  const auto known = state_.api_client->domains().Find(domain);
  if (known && known->is_ready_here) return true;
  return !state_.self.clique.empty() && IsInClique(domain);
}

bool DomainReadiness::IsInClique(const std::string& domain) {
  const kube::ObjectKey key = {.ns = state_.settings.ns,
                               .name = api::CliqueName(domain, state_.self.clique)};
  state_.api_client->WatchClique(key);
  if (const auto is_ready = state_.api_client->IsReadyIn(key)) return *is_ready;
  // NVIDIA's roles let a plugin read cliques and not watch them.
  const TimePoint now = state_.clock.Now();
  const TimePoint next = std::max(poll_next_, since_ + kWatchTime);
  ForgetOld(now);
  if (!polling_ && now >= next) {
    polling_ = true;
    state_.api_client->Enqueue(
        ApiClient::Queue::kReads, [this, key, domain](http::Transport& transport) {
          const auto is_ready = ReadIsReady(transport, key, state_.settings.node);
          state_.mailbox.Post([this, domain, is_ready] {
            polling_ = false;
            if (domain == domain_) polled_ = is_ready.value_or(false);
            poll_next_ = state_.clock.Now() + pause_;
            pause_ = std::min(pause_ * 2, kPauseMost);
          });
        });
  } else if (!polling_) {
    look_again_ = std::min(look_again_, next);
  }
  return polled_;
}

// What was said when somebody waited before.
void DomainReadiness::ForgetOld(TimePoint now) {
  if (polling_ || now < poll_next_ + kPauseMost) return;
  polled_ = false;
  pause_ = kPauseFirst;
}

bool DomainReadiness::IsHost() {
  const TimePoint now = state_.clock.Now();
  ForgetOld(now);
  if (!polling_ && now >= poll_next_) {
    polling_ = true;
    asker_.Do([this](const std::stop_token& stop) {
      const base::Program program = {.path = "/usr/sbin/chroot",
                                     .arguments = {state_.settings.driver_root, "nvidia-imex-ctl",
                                                   "-q", "--u=" + state_.settings.imex_socket},
                                     .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}};
      const auto end = base::RunProgram(
          program, {.time = kHostTime, .output_bytes_max = kHostWordsMax}, state_.clock, stop);
      const bool is_ready = end && end->how == base::ProgramEnd::How::kExited && end->status == 0 &&
                            Trimmed(end->output) == "READY";
      state_.mailbox.Post([this, is_ready] {
        polling_ = false;
        polled_ = is_ready;
        poll_next_ = state_.clock.Now() + kHostPause;
      });
    });
  } else if (!polling_) {
    look_again_ = std::min(look_again_, poll_next_);
  }
  return polled_;
}

}  // namespace plugin
