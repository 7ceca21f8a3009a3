#include "pkg/http/server_reply.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace http {
namespace {

// Lets cpp-httplib read a request from memory and write its reply there, so that it never waits.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}

  bool is_readable() const override { return !input_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override {
    const std::size_t count = std::min(size, input_.size());
    std::memcpy(bytes, input_.data(), count);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    output_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  std::string_view input_;
  std::string output_;
};

class Parser final : public httplib::Server {
 public:
  explicit Parser(const http::Server::Handler& handler) {
    // Before its own routing, which matches paths by std::regex and would read a body.
    set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
      if (request.method != "GET" && request.method != "HEAD") {
        response.status = 405;
        response.set_header("Allow", "GET, HEAD");
        return HandlerResponse::Handled;
      }
      const ServerReply reply = handler({.path = request.path, .query = request.params});
      response.status = reply.status;
      response.set_content(reply.body, reply.content_type);
      return HandlerResponse::Handled;
    });
  }

  void Answer(MemoryStream& stream) {
    bool is_closed = false;
    process_request(stream, /*close_connection=*/true, is_closed, nullptr);
  }
};

// Without the Range header, which may be ignored, and which cpp-httplib reads by std::regex: that
// calls itself once for each character.
std::string WithoutRange(const std::string& head) {
  constexpr std::string_view kName = "range:";
  std::string rest;
  std::size_t begin = 0;
  while (begin < head.size()) {
    const std::size_t end = std::min(head.find('\n', begin), head.size() - 1) + 1;
    const std::string_view line = std::string_view(head).substr(begin, end - begin);
    const bool is_range =
        std::ranges::equal(line.substr(0, kName.size()), kName, {},
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!is_range) rest += line;
    begin = end;
  }
  return rest;
}

}  // namespace

std::string AnswerTo(const std::string& head, const Server::Handler& handler) {
  const std::string request = WithoutRange(head);
  MemoryStream stream(request);
  Parser(handler).Answer(stream);
  return stream.output();
}

}  // namespace http
