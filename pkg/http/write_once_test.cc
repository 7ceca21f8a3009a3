// Goal: a write is on the wire exactly once, wherever its connection dies.
// Method: a server of raw sockets answers a first request, so that the connection is kept, then
// reads the whole second one on the same connection and breaks it without a word. libcurl would
// send it again on a new connection and report success.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"

namespace http {
namespace {

using base::ErrorCode;
using base::Result;
using testing::FakeCredentials;
using testing::RawServer;
using testing::Reply;

enum class Death { kFin, kRst };

// Answers until it has read a request for /dies for the first time; then the connection dies.
RawServer::Serve BreaksOnce(Death death) {
  return [death](RawServer::Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      const bool dies = request.find(" /dies ") != std::string::npos;
      if (dies && connection.number == 0) {
        if (death == Death::kRst) connection.Reset();
        return;
      }
      connection.Write(Reply(200, "{}"));
    }
  };
}

Request RequestOf(Method method, const std::string& path) {
  const bool has_body = method != Method::kGet;
  return {.method = method,
          .path = path,
          .content_type = has_body ? "application/json" : "",
          .body = has_body ? R"({"kind":"DaemonSet"})" : ""};
}

std::size_t TimesOnTheWire(const RawServer& server, const std::string& path) {
  const std::vector<std::string> requests = server.requests();
  return static_cast<std::size_t>(std::ranges::count_if(requests, [&](const std::string& request) {
    return request.find(" " + path + " ") != std::string::npos;
  }));
}

class WriteOnce : public ::testing::TestWithParam<Death> {
 protected:
  RawServer server_{BreaksOnce(GetParam())};
  FakeCredentials credentials_;
  CurlTransport transport_{{.url = server_.url()}, credentials_, "test"};
};

TEST_P(WriteOnce, RT2a_WriteOnAReusedConnectionThatDiesIsNotSentAgain) {
  for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    SCOPED_TRACE(ToString(method));
    RawServer server(BreaksOnce(GetParam()));
    CurlTransport transport({.url = server.url()}, credentials_, "test");
    ASSERT_TRUE(transport.Send(RequestOf(Method::kGet, "/first")));

    const Result<Response> reply = transport.Send(RequestOf(method, "/dies"));

    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kUnknownOutcome) << reply.error().message;
    EXPECT_EQ(TimesOnTheWire(server, "/dies"), 1U);
    EXPECT_EQ(server.requests().size(), 2U);
  }
}

TEST_P(WriteOnce, RT2a_DeleteWithoutABodyIsNotSentAgain) {
  ASSERT_TRUE(transport_.Send(RequestOf(Method::kGet, "/first")));
  const Result<Response> reply = transport_.Send({.method = Method::kDelete, .path = "/dies"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnknownOutcome) << reply.error().message;
  EXPECT_EQ(TimesOnTheWire(server_, "/dies"), 1U);
}

TEST_P(WriteOnce, RT2a_LargeWriteOnAReusedConnectionThatDiesIsNotSentAgain) {
  ASSERT_TRUE(transport_.Send(RequestOf(Method::kGet, "/first")));
  Request request = RequestOf(Method::kPost, "/dies");
  request.body.assign(3U << 20, 'x');  // Above what a socket takes at once, and "Expect" begins.
  const Result<Response> reply = transport_.Send(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnknownOutcome) << reply.error().message;
  EXPECT_EQ(TimesOnTheWire(server_, "/dies"), 1U);
}

TEST_P(WriteOnce, RT2a_WriteOnAFreshConnectionThatDiesIsNotSentAgain) {
  const Result<Response> reply = transport_.Send(RequestOf(Method::kPost, "/dies"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnknownOutcome) << reply.error().message;
  EXPECT_EQ(TimesOnTheWire(server_, "/dies"), 1U);
}

TEST_P(WriteOnce, NextWriteAfterALostOneIsSent) {
  ASSERT_TRUE(transport_.Send(RequestOf(Method::kGet, "/first")));
  ASSERT_FALSE(transport_.Send(RequestOf(Method::kPost, "/dies")));
  const Result<Response> reply = transport_.Send(RequestOf(Method::kPost, "/next"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(TimesOnTheWire(server_, "/next"), 1U);
}

TEST_P(WriteOnce, ReadOnAReusedConnectionThatDiesIsReadOnAnother) {
  ASSERT_TRUE(transport_.Send(RequestOf(Method::kGet, "/first")));
  const Result<Response> reply = transport_.Send(RequestOf(Method::kGet, "/dies"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(TimesOnTheWire(server_, "/dies"), 2U);
}

TEST_P(WriteOnce, ReadOnAFreshConnectionThatDiesIsUnavailable) {
  const Result<Response> reply = transport_.Send(RequestOf(Method::kGet, "/dies"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable) << reply.error().message;
  EXPECT_NE(reply.error().message.find("127.0.0.1:" + std::to_string(server_.port())),
            std::string::npos)
      << reply.error().message;
}

INSTANTIATE_TEST_SUITE_P(Deaths, WriteOnce, ::testing::Values(Death::kFin, Death::kRst),
                         [](const auto& death) {
                           return death.param == Death::kFin ? "WithFin" : "WithRst";
                         });

TEST(WriteOnceTimeout, WriteWithoutAReplyInTimeIsUnknownAndReadIsPastItsDeadline) {
  RawServer server([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.WaitForClose();
  });
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  Request write = RequestOf(Method::kPost, "/x");
  Request read = RequestOf(Method::kGet, "/x");
  std::vector<Result<Response>> replies;
  const auto was_sent = [](const Result<Response>& reply) {
    return reply || reply.error().code != ErrorCode::kUnavailable;
  };
  // On a busy machine they are not sent within that time.
  for (std::chrono::milliseconds timeout(50); timeout < std::chrono::seconds(20); timeout *= 2) {
    write.timeout = read.timeout = timeout;
    replies = transport.SendAll({write, read});
    if (std::ranges::all_of(replies, was_sent)) break;
  }

  ASSERT_FALSE(replies[0]);
  ASSERT_FALSE(replies[1]);
  EXPECT_EQ(replies[0].error().code, ErrorCode::kUnknownOutcome) << replies[0].error().message;
  EXPECT_EQ(replies[1].error().code, ErrorCode::kDeadlineExceeded) << replies[1].error().message;
}

TEST(WriteOnceTimeout, WriteWhoseReplyBreaksOffIsUnknown) {
  RawServer server([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"kind\":");
  });
  FakeCredentials credentials;
  CurlTransport transport({.url = server.url()}, credentials, "test");
  const Result<Response> reply = transport.Send(RequestOf(Method::kPost, "/x"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnknownOutcome) << reply.error().message;
}

}  // namespace
}  // namespace http
