#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/server.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_client.h"

namespace http {
namespace {

using base::Result;
using testing::BodyOf;
using testing::RawClient;
using testing::StatusOf;

Server::Answer Echo(const ServerRequest& request) {
  if (request.path == "/work") return [] { return ServerReply{.body = "made"}; };
  std::string body = request.path;
  for (const auto& [name, value] : request.query) body += "|" + name + "=" + value;
  return ServerReply{.body = body};
}

class HttpServer : public ::testing::Test {
 protected:
  HttpServer() {
    const Result<int> port = server_.Start("127.0.0.1:0");
    EXPECT_TRUE(port);
    port_ = port.value_or(0);
  }
  std::string Ask(const std::string& head) const {
    const RawClient client(port_);
    client.Write(head);
    return client.ReadAll();
  }

  base::ManualClock clock_;
  Server server_{&Echo, clock_};
  int port_ = 0;
};

TEST_F(HttpServer, AnyRequestIsAnsweredAndTheConnectionClosed) {
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
      {"HEAD /work HTTP/1.1\r\n\r\n", 200, ""},
      {"GET /work HTTP/1.1\r\n\r\n", 200, "made"},
      {"POST /readyz HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 405, ""},
      {"DELETE / HTTP/1.1\r\n\r\n", 405, ""},
      {"GET / HTTP/1.1\r\nRange: bytes=0-0\r\nranGE: x\r\n\r\n", 200, "/"},
      {std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), 200, "/"},
      {"GET /a%00b HTTP/1.1\r\n\r\n", 200, "/a"},
  };
  for (const Row& row : rows) {
    const std::string reply = Ask(row.head);
    EXPECT_EQ(StatusOf(reply), row.status) << row.head << reply;
    EXPECT_EQ(BodyOf(reply), row.body) << row.head << reply;
    EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos) << reply;
  }
}

TEST(HttpServerReply, REV3_X8_RefusalSaysThatATokenIsWanted) {
  const base::ManualClock clock;
  Server server([](const ServerRequest&) { return ServerReply{.status = 401}; }, clock);
  const RawClient client(server.Start("127.0.0.1:0").value_or(0));
  client.Write("GET / HTTP/1.1\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_EQ(StatusOf(answer), 401);
  EXPECT_NE(answer.find("WWW-Authenticate: Bearer\r\n"), std::string::npos) << answer;
}

TEST_F(HttpServer, WhatIsNoRequestIsRefusedOrCutOff) {
  std::string parameters;
  while (parameters.size() < 7900) parameters += "a&";
  const std::vector<std::pair<std::string, int>> rows = {
      {"nonsense\r\n\r\n", 0},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/9.1\r\n\r\n", 505},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET /?" + parameters + " HTTP/1.1\r\n\r\n", 0},
  };
  for (const auto& [head, status] : rows) EXPECT_EQ(StatusOf(Ask(head)), status) << head;
  EXPECT_EQ(StatusOf(Ask("GET /a HTTP/1.1\r\n\r\n")), 200);
}

TEST_F(HttpServer, HeadBelowItsBoundIsAnswered) {
  std::string head = "GET / HTTP/1.1\r\nRange: bytes=0-0";
  while (head.size() < 8000) head += ",0-0";
  EXPECT_EQ(StatusOf(Ask(head + "\r\n\r\n")), 200);
  EXPECT_EQ(StatusOf(Ask("GET /" + std::string(7900, 'a') + " HTTP/1.1\r\n\r\n")), 200);
}

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
  const RawClient client(port_);
  for (const char c : std::string("GET /x HTTP/1.1\r\n\r\n")) client.Write({&c, 1});
  EXPECT_EQ(BodyOf(client.ReadAll()), "/x");
}

TEST_F(HttpServer, BodyThatNobodyReadsDoesNotCostTheAnswer) {
  const std::string body(100'000, 'x');
  EXPECT_EQ(StatusOf(Ask("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + body)), 405);
}

TEST_F(HttpServer, HeadOverItsBoundIsRefused) {
  EXPECT_EQ(StatusOf(Ask("GET / HTTP/1.1\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n")), 431);
  EXPECT_EQ(StatusOf(Ask(std::string(20'000, 'x'))), 414);
}

TEST_F(HttpServer, SilentClientIsCutOffAfterFiveSecondsAndKeepsNobodyWaiting) {
  const RawClient silent(port_);
  silent.Write("GET / HT");
  EXPECT_EQ(StatusOf(Ask("GET /a HTTP/1.1\r\n\r\n")), 200);
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(StatusOf(Ask("GET /b HTTP/1.1\r\n\r\n")), 200);
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(HttpServer, BodyThatDoesNotComeIsWaitedForNoLonger) {
  const RawClient silent(port_);
  silent.Write("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(StatusOf(Ask("GET /a HTTP/1.1\r\n\r\n")), 200);
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(StatusOf(Ask("GET /b HTTP/1.1\r\n\r\n")), 200);
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(HttpServer, NewClientTakesThePlaceOfTheOldestOfAHundred) {
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 150; ++i) idle.push_back(std::make_unique<RawClient>(port_));
  EXPECT_EQ(StatusOf(Ask("GET /a HTTP/1.1\r\n\r\n")), 200);
  EXPECT_EQ(idle.front()->ReadAll(), "");  // Gone.
  idle.back()->Write("GET /b HTTP/1.1\r\n\r\n");
  EXPECT_EQ(StatusOf(idle.back()->ReadAll()), 200);
}

TEST_F(HttpServer, StopCutsConnectionsAndMayBeCalledTwice) {
  const RawClient client(port_);
  client.Write("GET / HT");
  server_.Stop();
  server_.Stop();
  EXPECT_EQ(client.ReadAll(), "");
}

constexpr std::string_view kGetPage = "GET /page HTTP/1.1\r\nAccept-Encoding: br, gzip\r\n\r\n";
constexpr std::string_view kGetAtOnce = "GET / HTTP/1.1\r\n\r\n";

// Everything but "/page" is answered at once; that is work.
class HttpServerWork : public ::testing::Test {
 protected:
  void Serve(ServerWork work) {
    server_ = std::make_unique<Server>(
        [page = std::move(work)](const ServerRequest& request) -> Server::Answer {
          if (request.path == "/page") return page;
          return ServerReply{.body = "at once"};
        },
        clock_);
    const Result<int> port = server_->Start("127.0.0.1:0");
    ASSERT_TRUE(port) << port.error().message;
    port_ = *port;
  }
  std::string Ask(std::string_view head) const {
    const RawClient client(port_);
    client.Write(head);
    return client.ReadAll();
  }

  base::ManualClock clock_;
  std::unique_ptr<Server> server_;
  int port_ = 0;
};

TEST_F(HttpServerWork, LargeAnswerArrivesWholeAndAsItIs) {
  const std::string large(8U << 20, 'x');
  Serve([&] { return ServerReply{.body = large}; });
  const std::string answer = Ask(kGetPage);
  EXPECT_EQ(answer.find("Content-Encoding"), std::string::npos);
  EXPECT_EQ(BodyOf(answer), large);
}

TEST_F(HttpServerWork, S2_WhoIsAnsweredAtOnceDoesNotWaitForWork) {
  std::latch released(1);
  Serve([&] {
    released.wait();
    return ServerReply{.body = "made"};
  });
  const RawClient first(port_);
  const RawClient second(port_);
  for (const RawClient* client : {&first, &second}) client->Write(kGetPage);
  for (int i = 0; i < 150; ++i) EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  released.count_down();
  for (const RawClient* client : {&first, &second}) EXPECT_EQ(BodyOf(client->ReadAll()), "made");
}

TEST_F(HttpServerWork, WorkThatNobodyWaitsForAnyMoreIsNotBegun) {
  std::latch began(1);
  std::latch released(1);
  std::atomic<int> count = 0;
  Serve([&] {
    if (++count == 1) began.count_down();
    released.wait();
    return ServerReply{.body = "made"};
  });
  const RawClient first(port_);
  first.Write(kGetPage);
  began.wait();
  const RawClient second(port_);
  second.Write(kGetPage);
  EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  for (const RawClient* client : {&first, &second}) EXPECT_EQ(client->ReadAll(), "");
  released.count_down();
  EXPECT_EQ(BodyOf(Ask(kGetPage)), "made");
  EXPECT_EQ(count, 2);
}

TEST_F(HttpServerWork, ClientThatDoesNotReadIsCutOffAfterFiveSeconds) {
  const std::string large(8U << 20, 'x');
  Serve([&] { return ServerReply{.body = large}; });
  const RawClient client(port_);
  client.Write(kGetPage);
  EXPECT_EQ(StatusOf(client.Peek()), 200);
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  EXPECT_LT(client.ReadAll().size(), large.size());
}

TEST_F(HttpServerWork, Z2_AnswersThatNobodyReadsAreBoundedAndTheirBytesComeBack) {
  const std::string page(1U << 20, 'x');
  Serve([&] { return ServerReply{.body = page}; });
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_, 16 << 10));
    clients.back()->Write(kGetPage);
  }
  std::map<int, int> answers;
  for (const auto& client : clients) ++answers[StatusOf(client->Peek())];
  EXPECT_EQ(answers, (std::map<int, int>{{200, 16}, {503, 34}}));
  EXPECT_NE(clients.back()->ReadAll().find("Retry-After: 5\r\n"), std::string::npos);
  EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  for (const auto& client : clients) static_cast<void>(client->ReadAll());
  EXPECT_EQ(BodyOf(Ask(kGetPage)), page);
}

TEST_F(HttpServerWork, StopWaitsForTheWorkThatIsBeingDoneAndDropsTheRest) {
  std::latch began(1);
  std::latch released(1);
  std::atomic<int> done = 0;
  Serve([&] {
    began.count_down();
    released.wait();
    ++done;
    return ServerReply{.body = "made"};
  });
  const RawClient first(port_);
  first.Write(kGetPage);
  began.wait();
  const RawClient second(port_);
  second.Write(kGetPage);
  EXPECT_EQ(BodyOf(Ask(kGetAtOnce)), "at once");
  const std::jthread release([&] {
    for (const RawClient* client : {&first, &second}) EXPECT_EQ(client->ReadAll(), "");
    released.count_down();
  });
  server_->Stop();
  EXPECT_EQ(done, 1);
}

TEST(HttpServerAddress, AddressInUseIsAnErrorOfStart) {
  const base::ManualClock clock;
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
