#include "pkg/http/testing/raw_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "pkg/base/check.h"

namespace http::testing {
namespace {

std::size_t BodyBytes(std::string_view head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const std::size_t at = head.find(kName);
  if (at == std::string_view::npos) return 0;
  return std::strtoul(head.data() + at + kName.size(), nullptr, 10);
}

}  // namespace

bool RawServer::Connection::ReadMore() {
  std::array<char, 4096> bytes = {};
  const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  unread_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::string RawServer::Connection::ReadRequest() {
  constexpr std::string_view kEndOfHead = "\r\n\r\n";
  std::size_t end = 0;
  while ((end = unread_.find(kEndOfHead)) == std::string::npos) {
    if (!ReadMore()) return {};
  }
  const std::size_t whole =
      end + kEndOfHead.size() + BodyBytes(std::string_view(unread_).substr(0, end));
  while (unread_.size() < whole) {
    if (!ReadMore()) return {};
  }
  std::string request = unread_.substr(0, whole);
  unread_.erase(0, whole);
  server_.state_.With([&](State& state) { state.requests.push_back(request); });
  return request;
}

void RawServer::Connection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // The client has disconnected. The test must notice that.
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void RawServer::Connection::WaitForClose() {
  while (ReadMore()) unread_.clear();
}

void RawServer::Connection::Reset() {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  CHECK(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
}

RawServer::RawServer(Serve serve)
    : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  CHECK(listener_ >= 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener_, 64) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

RawServer::~RawServer() {
  std::list<std::thread> threads;
  state_.With([&](State& state) {
    state.stopped = true;
    for (const int fd : state.fds) ::shutdown(fd, SHUT_RDWR);
    threads.swap(state.threads);
  });
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads) thread.join();
  ::close(listener_);
}

void RawServer::Accept() {
  while (true) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const bool stopped = state_.With([&](State& state) {
      if (state.stopped) return true;
      const int number = state.connections++;
      state.fds.push_back(fd);
      state.threads.emplace_back([this, fd, number] {
        Connection connection(*this, fd, number);
        serve_(connection);
        state_.With([&](State& served) {
          served.fds.remove(fd);
          ::close(fd);  // Under the lock, because its number may be reused at once.
        });
      });
      return false;
    });
    if (stopped) ::close(fd);
  }
}

std::vector<std::string> RawServer::requests() const {
  return state_.With([](const State& state) { return state.requests; });
}

int RawServer::connections() const {
  return state_.With([](const State& state) { return state.connections; });
}

std::string Reply(int status, std::string_view body, std::string_view headers) {
  return "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace http::testing
