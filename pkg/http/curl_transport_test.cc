#include "pkg/http/curl_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/gate.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"

namespace http {
namespace {

using base::ErrorCode;
using base::Result;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeCredentials;
using testing::RawServer;
using testing::Reply;

RawServer::Serve AnswersAll(const std::string& reply) {
  return [reply](RawServer::Connection& connection) {
    while (!connection.ReadRequest().empty()) connection.Write(reply);
  };
}

std::string PathOf(const std::string& request) {
  const std::size_t begin = request.find(' ') + 1;
  return request.substr(begin, request.find(' ', begin) - begin);
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CurlTransport, RequestSaysWhatItIsAndReplyIsWhatTheServerSent) {
  RawServer server(AnswersAll(Reply(201, R"({"kind":"Status"})", "Retry-After: 7\r\n")));
  FakeCredentials credentials({"secret"});
  CurlTransport transport({.url = server.url() + "/k8s/clusters/c-1/"}, credentials, "cdom/1.2.3");
  const Result<Response> reply = transport.Send({.method = Method::kPatch,
                                                 .path = "/api/v1/nodes/a?fieldManager=x",
                                                 .content_type = "application/merge-patch+json",
                                                 .body = R"({"metadata":{}})"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, R"({"kind":"Status"})");
  EXPECT_EQ(reply->retry_after, seconds(7));

  const std::string request = server.requests().at(0);
  EXPECT_TRUE(
      request.starts_with("PATCH /k8s/clusters/c-1/api/v1/nodes/a?fieldManager=x HTTP/1.1\r\n"))
      << request;
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"metadata\":{}}")) << request;
  for (const char* header :
       {"Accept: application/json\r\n", "Content-Type: application/merge-patch+json\r\n",
        "User-Agent: cdom/1.2.3\r\n", "Authorization: Bearer secret\r\n"}) {
    EXPECT_TRUE(Contains(request, header)) << header << request;
  }
  EXPECT_FALSE(Contains(request, "Expect:")) << request;
  EXPECT_FALSE(Contains(request, "Accept-Encoding:")) << request;
}

TEST(CurlTransport, RequestWithoutTokenOrBodyHasNoHeaderForThem) {
  RawServer server(AnswersAll(Reply(200, "")));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  for (const Method method : {Method::kGet, Method::kDelete}) {
    ASSERT_TRUE(transport.Send({.method = method, .path = "/x"}));
  }
  ASSERT_TRUE(transport.Send({.method = Method::kPost, .path = "/x"}));
  for (const std::string& request : server.requests()) {
    EXPECT_FALSE(Contains(request, "Authorization")) << request;
    EXPECT_FALSE(Contains(request, "Content-Type")) << request;
    EXPECT_EQ(Contains(request, "Content-Length: 0"), request.starts_with("POST")) << request;
  }
}

TEST(CurlTransport, PathIsSentAsItIs) {
  RawServer server(AnswersAll(Reply(200, "")));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  ASSERT_TRUE(transport.Send({.path = "/a/../b/%2E%2E/c?x=%2B"}));
  EXPECT_EQ(PathOf(server.requests().at(0)), "/a/../b/%2E%2E/c?x=%2B");
}

TEST(CurlTransport, RequestsTravelSideBySideAndRepliesKeepTheirOrder) {
  constexpr int kCount = 6;
  std::latch all_are_there(kCount);  // Nobody is answered before everybody has asked.
  RawServer server([&](RawServer::Connection& connection) {
    const std::string request = connection.ReadRequest();
    all_are_there.arrive_and_wait();
    connection.Write(Reply(200, PathOf(request)));
    connection.WaitForClose();
  });
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  std::vector<Request> requests;
  for (int i = 0; i < kCount; ++i) requests.push_back({.path = "/" + std::to_string(i)});

  const std::vector<Result<Response>> replies = transport.SendAll(requests);

  ASSERT_EQ(replies.size(), requests.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ASSERT_TRUE(replies[i]) << replies[i].error().message;
    EXPECT_EQ(replies[i]->body, requests[i].path);
  }
}

TEST(CurlTransport, MoreRequestsThanConnectionsShareSix) {
  RawServer server(AnswersAll(Reply(200, "{}")));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const std::vector<Result<Response>> replies =
      transport.SendAll(std::vector<Request>(50, {.path = "/x"}));
  for (const Result<Response>& reply : replies) ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(server.requests().size(), 50U);
  EXPECT_LE(server.connections(), 6);
}

TEST(CurlTransport, TransportsThatShareABoundKeepItTogether) {
  constexpr int kMost = 3;
  std::atomic<int> now = 0;
  std::atomic<int> peak = 0;
  RawServer server([&](RawServer::Connection& connection) {
    while (!connection.ReadRequest().empty()) {
      const int here = ++now;
      for (int seen = peak; seen < here && !peak.compare_exchange_weak(seen, here);) {
      }
      std::this_thread::yield();
      --now;
      connection.Write(Reply(200, "{}"));
    }
  });
  InFlight in_flight(kMost);
  FakeCredentials credentials;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      CurlTransport transport({.url = server.url()}, credentials, "test", {}, &in_flight);
      for (int step = 0; step < 20; ++step) {
        for (const auto& reply : transport.SendAll(std::vector<Request>(7, {.path = "/x"}))) {
          EXPECT_TRUE(reply) << reply.error().message;
        }
      }
    });
  }
  workers.clear();
  EXPECT_EQ(server.requests().size(), 4U * 20U * 7U);
  EXPECT_LE(peak, kMost);
}

TEST(CurlTransport, RequestThatWaitsForItsTurnKeepsItsTime) {
  RawServer server([](RawServer::Connection& connection) {
    (void)connection.ReadRequest();
    connection.WaitForClose();  // Never answers.
  });
  InFlight in_flight(1);
  FakeCredentials credentials;
  std::vector<std::chrono::microseconds> took;
  CurlTransport transport(
      {.url = server.url()}, credentials, "test",
      [&](const ExchangeReport& report) { took.push_back(report.took); }, &in_flight);
  const milliseconds timeout(100);
  const auto replies =
      transport.SendAll(std::vector<Request>(3, {.path = "/x", .timeout = timeout}));
  for (const auto& reply : replies) {
    ASSERT_FALSE(reply);
    EXPECT_TRUE(reply.error().code == ErrorCode::kDeadlineExceeded ||
                reply.error().code == ErrorCode::kUnavailable)
        << reply.error().message;
  }
  // Three that had waited on each other's time would be over after one.
  ASSERT_EQ(took.size(), 3U);
  for (const auto& each : took) EXPECT_GE(each, timeout - milliseconds(1));
}

TEST(CurlTransport, ConnectionIsUsedAgain) {
  RawServer server(AnswersAll(Reply(200, "{}")));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(transport.Send({.path = "/x"}));
  EXPECT_EQ(server.connections(), 1);
}

TEST(CurlTransport, FailureOfOneRequestLeavesTheOthersAlone) {
  RawServer server([](RawServer::Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty() || PathOf(request) == "/dies") return;
      connection.Write(Reply(200, "{}"));
    }
  });
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const std::vector<Result<Response>> replies = transport.SendAll(
      {{.path = "/a"}, {.method = Method::kPost, .path = "/dies"}, {.path = "/b"}});
  EXPECT_TRUE(replies[0]);
  EXPECT_FALSE(replies[1]);
  EXPECT_TRUE(replies[2]);
}

TEST(CurlTransport, NothingToSendGivesNoReplies) {
  FakeCredentials credentials;
  CurlTransport transport({.url = "http://127.0.0.1:1"}, credentials, "test");
  EXPECT_TRUE(transport.SendAll({}).empty());
}

TEST(CurlTransport, RefusedConnectionNamesHostPortAndCause) {
  int port = 0;
  {
    const RawServer server(AnswersAll(""));
    port = server.port();
  }  // Nobody listens there any more.
  FakeCredentials credentials;
  CurlTransport transport({.url = "http://127.0.0.1:" + std::to_string(port)}, credentials, "test");
  const Result<Response> reply = transport.Send({.method = Method::kPost, .path = "/x"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(reply.error().message,
            "connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST(CurlTransport, MalformedEndpointIsInvalidRatherThanACrash) {
  FakeCredentials credentials;
  for (const char* url : {"", "ftp://127.0.0.1/", "http://", "http://a b"}) {
    CurlTransport transport({.url = url}, credentials, "test");
    const Result<Response> reply = transport.Send({.path = "/x"});
    ASSERT_FALSE(reply) << url;
    EXPECT_EQ(reply.error().code, ErrorCode::kInvalid) << url << ": " << reply.error().message;
  }
}

TEST(CurlTransport, BodyOverItsBoundIsTooLargeAndBodyAtItsBoundIsNot) {
  RawServer server(AnswersAll(Reply(200, std::string(1000, 'x'))));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const std::vector<Result<Response>> replies = transport.SendAll(
      {{.path = "/x", .response_bytes_max = 1000}, {.path = "/x", .response_bytes_max = 999}});
  ASSERT_TRUE(replies[0]) << replies[0].error().message;
  EXPECT_EQ(replies[0]->body.size(), 1000U);
  ASSERT_FALSE(replies[1]);
  EXPECT_EQ(replies[1].error().code, ErrorCode::kTooLarge) << replies[1].error().message;
}

TEST(CurlTransport, AnswerWhoseStatusIsNoneIsNoReply) {
  for (const char* status : {"HTTP/1.1 -99", "HTTP/1.1 0", "HTTP/1.1 99", "HTTP/2 -1", "HTTP/2 99",
                             "HTTP/2 1000", "HTTP/2 2147483647"}) {
    SCOPED_TRACE(status);
    RawServer server(AnswersAll(std::string(status) + " OK\r\nContent-Length: 0\r\n\r\n"));
    FakeCredentials credentials;
    CurlTransport transport({.url = server.url()}, credentials, "test");
    const Result<Response> read = transport.Send({.path = "/x"});
    ASSERT_FALSE(read) << read->status;
    EXPECT_EQ(read.error().code, ErrorCode::kUnavailable) << read.error().message;
    const Result<Response> write = transport.Send({.method = Method::kPost, .path = "/x"});
    ASSERT_FALSE(write) << write->status;
    EXPECT_EQ(write.error().code, ErrorCode::kUnknownOutcome) << write.error().message;
  }
}

TEST(CurlTransport, TR4_RedirectIsAReplyAndNotFollowed) {
  RawServer elsewhere(AnswersAll(Reply(200, "")));
  RawServer server(AnswersAll(Reply(301, "", "Location: " + elsewhere.url() + "/\r\n")));
  FakeCredentials credentials({"secret"});
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const Result<Response> reply = transport.Send({.path = "/x"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 301);
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST(CurlTransport, RT3_RetryAfterAsADateIsComparedWithTheServersClock) {
  RawServer server(AnswersAll(Reply(429, "",
                                    "Date: Mon, 10 Nov 2025 08:00:00 GMT\r\n"
                                    "Retry-After: Mon, 10 Nov 2025 08:00:30 GMT\r\n")));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const Result<Response> reply = transport.Send({.path = "/x"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 429);
  EXPECT_EQ(reply->retry_after, seconds(30));
}

std::string ReplyToToken(const std::string& request, const std::string& token) {
  return Contains(request, "Authorization: Bearer " + token + "\r\n") ? Reply(200, "{}")
                                                                      : Reply(401, "{}");
}

TEST(CurlTransport, CR2_UnauthorizedWriteIsSentOnceMoreWithTheNextToken) {
  RawServer server([](RawServer::Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      connection.Write(ReplyToToken(request, "new"));
    }
  });
  FakeCredentials credentials({"old", "new"});
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const Result<Response> reply =
      transport.Send({.method = Method::kPost, .path = "/x", .content_type = "a/b", .body = "{1}"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(credentials.invalidations(), 1U);
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_TRUE(server.requests()[1].ends_with("{1}")) << server.requests()[1];
}

TEST(CurlTransport, CR2_RequestThatStaysUnauthorizedIsSentTwiceAndNoMore) {
  RawServer server(AnswersAll(Reply(401, R"({"reason":"Unauthorized"})")));
  FakeCredentials credentials({"old"});
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const Result<Response> reply = transport.Send({.path = "/x"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 401);
  EXPECT_EQ(reply->body, R"({"reason":"Unauthorized"})");
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(CurlTransport, CR7_ErrorDoesNotTellTheToken) {
  RawServer server(
      [](RawServer::Connection& connection) { static_cast<void>(connection.ReadRequest()); });
  FakeCredentials credentials({"canary-token"});
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const Result<Response> reply = transport.Send({.path = "/x"});
  ASSERT_FALSE(reply);
  EXPECT_FALSE(Contains(reply.error().message, "canary")) << reply.error().message;
}

TEST(CurlTransport, ProxyIsAskedAndTheEnvironmentIsNot) {
  RawServer proxy(AnswersAll(Reply(200, "from the proxy")));
  RawServer server(AnswersAll(Reply(200, "from the server")));
  ASSERT_EQ(::setenv("http_proxy", proxy.url().c_str(), 1), 0);
  FakeCredentials credentials;
  CurlTransport direct({.url = server.url()}, credentials, "test");
  CurlTransport proxied({.url = server.url(), .proxy_url = proxy.url()}, credentials, "test");
  ASSERT_EQ(::setenv("no_proxy", "*", 1), 0);
  const Result<Response> direct_reply = direct.Send({.path = "/x"});
  const Result<Response> proxied_reply = proxied.Send({.path = "/x"});
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
  ASSERT_TRUE(direct_reply) << direct_reply.error().message;
  ASSERT_TRUE(proxied_reply) << proxied_reply.error().message;
  EXPECT_EQ(direct_reply->body, "from the server");
  EXPECT_EQ(proxied_reply->body, "from the proxy");
}

struct PeerSockets {
  int found = 0;
  bool all_close_on_exec = true;
  bool all_watched = true;
};

int IntOption(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  ::getsockopt(fd, level, name, &value, &size);
  return value;
}

// The sockets of this process that are connected to `port`.
PeerSockets SocketsTo(int port) {
  PeerSockets result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_in peer = {};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != port) continue;
    ++result.found;
    result.all_close_on_exec &= (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
    result.all_watched &= IntOption(fd, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
                          IntOption(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 30 &&
                          IntOption(fd, IPPROTO_TCP, TCP_KEEPINTVL) == 10 &&
                          IntOption(fd, IPPROTO_TCP, TCP_KEEPCNT) == 3 &&
                          IntOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 45'000;
  }
  return result;
}

TEST(CurlTransport, HO2_SocketsNoticeADeadPeerAndDoNotLeakIntoChildren) {
  RawServer server(AnswersAll(Reply(200, "{}")));
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  ASSERT_TRUE(transport.Send({.path = "/x"}));
  const PeerSockets sockets = SocketsTo(server.port());
  EXPECT_EQ(sockets.found, 1);
  EXPECT_TRUE(sockets.all_close_on_exec);
  EXPECT_TRUE(sockets.all_watched);
}

// The proxy stands for a busy API server: the connection is open when the Lease is lost.
TEST(CurlTransport, REV4_K13_WriteWhoseConnectionOpensAfterTheLeaseIsLostIsNotSent) {
  for (const bool loses : {false, true}) {
    std::atomic<bool> leads = true;
    RawServer proxy([&](RawServer::Connection& connection) {
      std::array<char, 64> greeting = {};
      ASSERT_GT(::read(connection.fd(), greeting.data(), greeting.size()), 0);
      if (loses) leads = false;
      connection.Write({"\x05\x00", 2});  // SOCKS5 without authentication, and connected.
      ASSERT_GT(::read(connection.fd(), greeting.data(), greeting.size()), 0);
      connection.Write({"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10});
      if (!connection.ReadRequest().empty()) connection.Write(Reply(200, "{}"));
    });
    const base::ManualClock clock;
    const Gate gate([&] { return leads.load(); }, clock);
    FakeCredentials credentials;
    CurlTransport transport({.url = "http://api.example:80",
                             .proxy_url = "socks5://127.0.0.1:" + std::to_string(proxy.port())},
                            credentials, "test", {}, nullptr, &gate);
    const auto reply = transport.Send({.method = Method::kPatch, .path = "/apis/x", .body = "{}"});
    EXPECT_EQ(reply.has_value(), !loses);
    EXPECT_EQ(proxy.requests().size(), loses ? 0U : 1U);
    if (!loses) continue;
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(reply.error().message, "not sent: this replica does not lead");
  }
}

}  // namespace
}  // namespace http
