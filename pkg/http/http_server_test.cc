#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/system_clock.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/server.h"
#include "pkg/http/server_reply.h"
#include "pkg/http/testing/fake_credentials.h"

namespace http {
namespace {

using base::Clock;
using base::Result;
using std::chrono::seconds;

ServerReply Echo(const ServerRequest& request) {
  std::string body = request.path;
  for (const auto& [name, value] : request.query) body += "|" + name + "=" + value;
  return {.body = body};
}

int StatusOf(const std::string& reply) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (!reply.starts_with(kVersion)) return 0;
  return std::stoi(reply.substr(kVersion.size(), 3));
}

std::string BodyOf(const std::string& reply) { return reply.substr(reply.find("\r\n\r\n") + 4); }

TEST(ServerReply, AnyRequestHasAnAnswer) {
  struct Row {
    std::string head;
    int status;
    std::string body;
  };
  const std::vector<Row> rows = {
      {"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", 200, "/readyz"},
      {"GET /readyz?verbose&exclude=a%20b HTTP/1.1\r\n\r\n", 200, "/readyz|exclude=a b|verbose="},
      {"GET / HTTP/1.0\r\n\r\n", 200, "/"},
      {"HEAD /readyz HTTP/1.1\r\n\r\n", 200, ""},
      {"POST /readyz HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 405, ""},
      {"DELETE / HTTP/1.1\r\n\r\n", 405, ""},
      {"GET / HTTP/1.1\r\nRange: bytes=0-0\r\nranGE: x\r\n\r\n", 200, "/"},
      {"nonsense\r\n\r\n", 400, ""},
      {"\r\n\r\n", 400, ""},
      {std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), 400, ""},
  };
  for (const Row& row : rows) {
    const std::string reply = AnswerTo(row.head, &Echo);
    EXPECT_EQ(StatusOf(reply), row.status) << row.head << reply;
    EXPECT_EQ(BodyOf(reply), row.body) << row.head << reply;
    EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos) << reply;
  }
}

TEST(ServerReply, LongRangeHeaderCostsNoStack) {
  std::string head = "GET / HTTP/1.1\r\nRange: bytes=0-0";
  while (head.size() < 8000) head += ",0-0";
  EXPECT_EQ(StatusOf(AnswerTo(head + "\r\n\r\n", &Echo)), 200);
  EXPECT_EQ(StatusOf(AnswerTo("GET /" + std::string(7900, 'a') + " HTTP/1.1\r\n\r\n", &Echo)), 200);
}

// A clock that other threads may read.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] TimePoint Now() const override { return TimePoint(seconds(seconds_.load())); }
  [[nodiscard]] WallTime Wall() const override { return {}; }
  void Advance(int by) { seconds_ += by; }

 private:
  std::atomic<int> seconds_{1'000};
};

class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Write(std::string_view bytes) const {
    ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Everything until the server closes.
  [[nodiscard]] std::string ReadAll() const {
    std::string all;
    std::array<char, 4096> bytes = {};
    ssize_t count = 0;
    while ((count = ::recv(fd_, bytes.data(), bytes.size(), 0)) > 0) {
      all.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  const int fd_;
};

class HttpServer : public ::testing::Test {
 protected:
  HttpServer() {
    const Result<int> port = server_.Start("127.0.0.1:0");
    EXPECT_TRUE(port);
    port_ = port.value_or(0);
  }
  std::string Ask(const std::string& head) const {
    const Client client(port_);
    client.Write(head);
    return client.ReadAll();
  }

  SharedClock clock_;
  Server server_{&Echo, clock_};
  int port_ = 0;
};

TEST_F(HttpServer, OrdinaryClientIsAnswered) {
  testing::FakeCredentials credentials;
  CurlTransport transport({.url = "http://127.0.0.1:" + std::to_string(port_)}, credentials,
                          "test");
  const auto replies = transport.SendAll(std::vector<Request>(20, {.path = "/readyz?verbose"}));
  for (const Result<Response>& reply : replies) {
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "/readyz|verbose=");
  }
}

TEST_F(HttpServer, HeadThatComesByteByByteIsAnswered) {
  const Client client(port_);
  for (const char c : std::string("GET /x HTTP/1.1\r\n\r\n")) client.Write({&c, 1});
  EXPECT_EQ(BodyOf(client.ReadAll()), "/x");
}

TEST_F(HttpServer, BodyThatNobodyReadsDoesNotCostTheAnswer) {
  const std::string body(100'000, 'x');
  EXPECT_EQ(StatusOf(Ask("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + body)), 405);
}

TEST_F(HttpServer, HeadOverItsBoundIsRefused) {
  EXPECT_EQ(StatusOf(Ask("GET / HTTP/1.1\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n")), 431);
  EXPECT_EQ(StatusOf(Ask(std::string(20'000, 'x'))), 431);
}

TEST_F(HttpServer, SilentClientIsCutOffAfterFiveSecondsAndKeepsNobodyWaiting) {
  const Client silent(port_);
  silent.Write("GET / HT");
  EXPECT_EQ(StatusOf(Ask("GET /a HTTP/1.1\r\n\r\n")), 200);
  clock_.Advance(6);
  EXPECT_EQ(StatusOf(Ask("GET /b HTTP/1.1\r\n\r\n")), 200);
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(HttpServer, NewClientTakesThePlaceOfTheOldestOfAHundred) {
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 150; ++i) idle.push_back(std::make_unique<Client>(port_));
  EXPECT_EQ(StatusOf(Ask("GET /a HTTP/1.1\r\n\r\n")), 200);
  EXPECT_EQ(idle.front()->ReadAll(), "");  // Gone.
  idle.back()->Write("GET /b HTTP/1.1\r\n\r\n");
  EXPECT_EQ(StatusOf(idle.back()->ReadAll()), 200);
}

TEST_F(HttpServer, StopCutsConnectionsAndMayBeCalledTwice) {
  const Client client(port_);
  client.Write("GET / HT");
  server_.Stop();
  server_.Stop();
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(HttpServerBody, LargeAnswerArrivesWhole) {
  const base::SystemClock clock;
  const std::string large(8U << 20, 'x');
  Server server([&](const ServerRequest&) { return ServerReply{.body = large}; }, clock);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  const Client client(*port);
  client.Write("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadAll()).size(), large.size());
}

TEST(HttpServerBody, AddressInUseIsAnErrorOfStart) {
  const base::SystemClock clock;
  Server first(&Echo, clock);
  const Result<int> port = first.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  Server second(&Echo, clock);
  const Result<int> failed = second.Start("127.0.0.1:" + std::to_string(*port));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("Address already in use"), std::string::npos)
      << failed.error().message;
}

}  // namespace
}  // namespace http
