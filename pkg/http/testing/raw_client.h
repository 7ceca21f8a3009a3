// A raw socket client for tests, which control every byte and read.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "pkg/base/check.h"

namespace http::testing {

class RawClient {
 public:
  // Connects to the port on loopback. `receive_bytes` is the size of the receive buffer; 0 for the
  // kernel's default.
  explicit RawClient(int port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Write(std::string_view bytes) const {
    ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Waits for the first bytes of an answer, and leaves them unread. Empty if there are none.
  std::string Peek() const { return Receive(MSG_PEEK); }
  // Returns all bytes until the server closes.
  std::string ReadAll() const {
    std::string all;
    for (std::string some = Receive(0); !some.empty(); some = Receive(0)) all += some;
    return all;
  }

 private:
  std::string Receive(int flags) const {
    std::array<char, 4096> bytes = {};
    const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), flags);
    return {bytes.data(), static_cast<std::size_t>(count > 0 ? count : 0)};
  }

  const int fd_;
};

// Returns the status of an answer, or of its start. 0 if it has none.
inline int StatusOf(std::string_view answer) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  return answer.starts_with(kVersion) ? std::stoi(std::string(answer.substr(kVersion.size(), 3)))
                                      : 0;
}

inline std::string BodyOf(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

}  // namespace http::testing
