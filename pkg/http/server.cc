#include "pkg/http/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/http/listener.h"
#include "pkg/http/server_reply.h"

namespace http {
namespace {

using base::Result;
using TimePoint = base::Clock::TimePoint;

constexpr std::size_t kConnectionsMax = 100;
constexpr std::size_t kHeadBytesMax = 8U << 10;
constexpr std::chrono::seconds kExchangeMax{5};
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{100};
constexpr std::string_view kTooLarge =
    "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    "Connection: close\r\nContent-Length: 0\r\n\r\n";

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// One exchange. Reads a head, writes an answer, then waits for the client to close: closing first,
// with something unread, would make the kernel take the answer back.
class Connection {
 public:
  Connection(Fd fd, TimePoint deadline) : fd_(std::move(fd)), deadline_(deadline) {}

  [[nodiscard]] pollfd Interest() const {
    return {.fd = fd_.get(),
            .events = static_cast<short>(phase_ == Phase::kWrite ? POLLOUT : POLLIN),
            .revents = 0};
  }
  [[nodiscard]] TimePoint deadline() const { return deadline_; }
  // False once it is over.
  [[nodiscard]] bool Go(const Server::Handler& handler) {
    return phase_ == Phase::kWrite ? Write() : Read(handler);
  }

 private:
  enum class Phase { kRead, kWrite, kDrain };

  [[nodiscard]] bool Read(const Server::Handler& handler) {
    std::array<char, 4096> bytes = {};
    const ssize_t count = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    if (phase_ == Phase::kDrain) return true;
    text_.append(bytes.data(), static_cast<std::size_t>(count));
    const std::size_t end = text_.find("\r\n\r\n");
    if (end != std::string::npos && end <= kHeadBytesMax) {
      text_ = AnswerTo(text_.substr(0, end + 4), handler);
    } else if (text_.size() > kHeadBytesMax) {
      text_ = kTooLarge;
    } else {
      return true;
    }
    phase_ = Phase::kWrite;
    return Write();
  }

  [[nodiscard]] bool Write() {
    while (written_ < text_.size()) {
      const ssize_t count =
          ::send(fd_.get(), text_.data() + written_, text_.size() - written_, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      written_ += static_cast<std::size_t>(count);
    }
    ::shutdown(fd_.get(), SHUT_WR);
    phase_ = Phase::kDrain;
    return true;
  }

  Fd fd_;
  TimePoint deadline_;
  Phase phase_ = Phase::kRead;
  std::string text_;  // The head, then the answer.
  std::size_t written_ = 0;
};

}  // namespace

struct Server::State {
  State(Handler handles, const base::Clock& tells) : handler(std::move(handles)), clock(tells) {}

  const Handler handler;
  const base::Clock& clock;
  const Fd stopped{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::optional<Listener> listener = {};
  std::deque<Connection> connections = {};  // The oldest first. Of the thread alone.
  std::jthread thread = {};
  bool is_over = false;

  void Serve(const std::stop_token& stop);
  void Turn();
  void Accept();
  void MakeRoom();
  [[nodiscard]] int WaitMs() const;
};

Server::Server(Handler handler, const base::Clock& clock)
    : state_(std::make_unique<State>(std::move(handler), clock)) {
  CHECK(state_->stopped.get() >= 0);
}

Server::~Server() { Stop(); }

Result<int> Server::Start(const std::string& address) {
  CHECK(!state_->thread.joinable() && !state_->is_over);
  state_->listener = TRY(Listener::On(address));
  state_->thread = std::jthread([this](const std::stop_token& stop) { state_->Serve(stop); });
  return state_->listener->port();
}

void Server::Stop() {
  if (!state_->thread.joinable()) return;
  state_->thread.request_stop();
  const std::uint64_t one = 1;
  CHECK(::write(state_->stopped.get(), &one, sizeof one) == sizeof one);
  state_->thread.join();
  state_->is_over = true;
  state_->listener.reset();  // So that those who were not accepted yet are cut, too.
}

void Server::State::Serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) Turn();
  connections.clear();
}

void Server::State::Turn() {
  std::vector<pollfd> fds = {{.fd = stopped.get(), .events = POLLIN, .revents = 0},
                             {.fd = listener->fd(), .events = POLLIN, .revents = 0}};
  const std::size_t own = fds.size();
  for (const Connection& connection : connections) fds.push_back(connection.Interest());
  if (::poll(fds.data(), fds.size(), WaitMs()) < 0) return;  // A signal.

  const TimePoint now = clock.Now();
  std::deque<Connection> left;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    Connection& connection = connections[i];
    const bool goes_on = fds[own + i].revents == 0 || connection.Go(handler);
    if (goes_on && now < connection.deadline()) left.push_back(std::move(connection));
  }
  connections = std::move(left);
  if (fds[1].revents != 0) Accept();
}

void Server::State::Accept() {
  const int fd = ::accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Else the client went away again.
    if (errno == EMFILE || errno == ENFILE) MakeRoom();
    return;
  }
  if (connections.size() == kConnectionsMax) connections.pop_front();
  connections.emplace_back(Fd(fd), clock.Now() + kExchangeMax);
}

// No descriptor is left: one of ours goes, or others have to, for which a moment is given, since
// the listener would wake us again at once.
void Server::State::MakeRoom() {
  if (connections.empty()) {
    poll(nullptr, 0, static_cast<int>(kPauseWithoutDescriptors.count()));
  } else {
    connections.pop_front();
  }
}

int Server::State::WaitMs() const {
  if (connections.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(connections.front().deadline() - clock.Now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000));
}

}  // namespace http
