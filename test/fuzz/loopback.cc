#include "test/fuzz/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "pkg/base/check.h"

namespace fuzz {

namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void SetPatience(int fd, std::chrono::milliseconds patience) {
  const timeval most = {.tv_sec = patience.count() / 1000,
                        .tv_usec = patience.count() % 1000 * 1000};
  CHECK(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0);
  CHECK(::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0);
}

bool ReadMore(int fd, std::string& into) {
  std::array<char, 8192> bytes = {};
  const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  into.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

void Write(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

HostileServer::HostileServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = Loopback(0);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  CHECK(listener_ >= 0 && ::bind(listener_, any, size) == 0 && ::listen(listener_, 16) == 0);
  CHECK(::getsockname(listener_, any, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

HostileServer::~HostileServer() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

void HostileServer::SetAnswer(std::string answer, bool with_reset) {
  script_.With([&](Script& script) {
    script = {.answer = std::move(answer), .with_reset = with_reset, .number = script.number + 1};
  });
}

void HostileServer::Serve() {
  while (true) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    SetPatience(fd, std::chrono::minutes(1));
    Answer(fd);
    ::close(fd);
  }
}

void HostileServer::Answer(int fd) {
  const Script script = script_.With([](const Script& now) { return now; });
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    if (!ReadMore(fd, request)) return;
  }
  script_.With([&](Script& now) { now.requests += now.number == script.number ? 1 : 0; });
  Write(fd, script.answer);
  if (script.with_reset) {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    CHECK(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    return;
  }
  ::shutdown(fd, SHUT_WR);
  while (ReadMore(fd, request)) request.clear();
}

std::string Exchange(int port, std::string_view bytes, std::chrono::milliseconds patience) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  SetPatience(fd, patience);
  const sockaddr_in address = Loopback(port);
  CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  Write(fd, bytes);
  ::shutdown(fd, SHUT_WR);
  std::string answer;
  while (ReadMore(fd, answer)) {
  }
  // So that ports do not run out, which wait for a minute otherwise.
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  CHECK(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  ::close(fd);
  return answer;
}

}  // namespace fuzz
