#include "pkg/http/curl_multi.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/wait_until.h"
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

constexpr const char* kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Chunk(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  EXPECT_LT(bytes.size(), 16U);
  return kDigits[bytes.size()] + std::string("\r\n") + bytes + "\r\n";
}

// What a stream was told.
struct Told {
  int arrivals = 0;  // Of a 200.
  std::string data = {};
  std::optional<Result<Response>> reply = {};
  std::optional<Result<void>> end = {};

  bool IsOver() const { return reply || end; }
};

class CurlMultiTest : public ::testing::Test {
 protected:
  void Connect(RawServer::Serve serve) {
    server_.emplace(std::move(serve));
    multi_.emplace(Endpoint{.url = server_->url()}, credentials_, "test", 0);
  }
  CurlMulti::Stream Into(Told& told) {
    return {.on_data =
                [&](std::string_view bytes) {
                  if (bytes.empty()) ++told.arrivals;
                  told.data += bytes;
                  return told.data.find("enough") == std::string::npos;
                },
            .on_reply = [&](Result<Response> reply) { told.reply = std::move(reply); },
            .on_end = [&](Result<void> result) { told.end = std::move(result); }};
  }
  template <typename Condition>
  void PollUntil(Condition condition) {
    ASSERT_TRUE(base::WaitUntil([&] {
      const bool is_so = condition();
      if (!is_so) multi_->Poll(milliseconds(100));
      return is_so;
    }));
  }
  Told Stream(Request request = {.path = "/watch"}) {
    Told told;
    multi_->Open(std::move(request), Into(told));
    PollUntil([&] { return told.IsOver(); });
    return told;
  }

  FakeCredentials credentials_;
  std::optional<RawServer> server_;  // Goes after the multi, which may be reading.
  std::optional<CurlMulti> multi_;
};

TEST_F(CurlMultiTest, StreamTellsOfThe200BeforeItsDataAndEndsCleanly) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead);
    connection.Write(Chunk("{\"a\":") + Chunk("1}\n"));
    connection.Write("0\r\n\r\n");
    connection.WaitForClose();
  });
  const Told told = Stream();
  EXPECT_EQ(told.arrivals, 1);
  EXPECT_EQ(told.data, "{\"a\":1}\n");
  ASSERT_TRUE(told.end);
  EXPECT_TRUE(told.end->has_value());
  EXPECT_FALSE(told.reply);
}

TEST_F(CurlMultiTest, SilentStreamStillTellsOfIts200) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead);
    connection.WaitForClose();
  });
  Told told;
  multi_->Open({.path = "/watch"}, Into(told));
  PollUntil([&] { return told.arrivals == 1; });
  EXPECT_FALSE(told.IsOver());
}

TEST_F(CurlMultiTest, WA12_StreamWhoseConnectionDiesEndsWithAnErrorAfterItsData) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead + Chunk("{\"half"));
  });
  const Told told = Stream();
  EXPECT_EQ(told.data, "{\"half");
  ASSERT_TRUE(told.end);
  ASSERT_FALSE(told.end->has_value());
  EXPECT_EQ(told.end->error().code, ErrorCode::kUnavailable) << told.end->error().message;
}

TEST_F(CurlMultiTest, HO4_StreamEndsAtItsTimeout) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead);
    connection.WaitForClose();
  });
  Told told;
  // On a busy machine the 200 takes longer than that.
  for (milliseconds timeout(50); !told.end && !HasFatalFailure() && timeout < seconds(20);
       timeout *= 2) {
    told = Stream({.path = "/watch", .timeout = timeout});
  }
  ASSERT_TRUE(told.end);
  ASSERT_FALSE(told.end->has_value());
  EXPECT_EQ(told.end->error().code, ErrorCode::kDeadlineExceeded) << told.end->error().message;
}

TEST_F(CurlMultiTest, StreamThatIsNoneIsAReplyWithItsWholeBody) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(Reply(410, R"({"reason":"Expired"})", "Retry-After: 3\r\n"));
    connection.WaitForClose();
  });
  const Told told = Stream();
  EXPECT_EQ(told.arrivals, 0);
  EXPECT_EQ(told.data, "");
  EXPECT_FALSE(told.end);
  ASSERT_TRUE(told.reply);
  ASSERT_TRUE(told.reply->has_value()) << told.reply->error().message;
  EXPECT_EQ((*told.reply)->status, 410);
  EXPECT_EQ((*told.reply)->body, R"({"reason":"Expired"})");
  EXPECT_EQ((*told.reply)->retry_after, seconds(3));
}

TEST_F(CurlMultiTest, EachExchangeThatEndsIsReportedOnceWithItsStatus) {
  Connect([](RawServer::Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      connection.Write(Reply(request.starts_with("PATCH") ? 409 : 200, "{}"));
    }
  });
  std::vector<ExchangeReport> reports;
  multi_->SetOnExchange([&](const ExchangeReport& report) { reports.push_back(report); });
  for (const Method method : {Method::kPatch, Method::kGet}) {
    bool is_over = false;
    multi_->Send({.method = method, .path = "/"}, [&](const Result<Response>&) { is_over = true; });
    PollUntil([&] { return is_over; });
  }
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].method, Method::kPatch);
  EXPECT_EQ(reports[0].status, 409);
  EXPECT_GT(reports[0].took.count(), 0);
  EXPECT_EQ(reports[1].method, Method::kGet);
  EXPECT_EQ(reports[1].status, 200);
}

TEST_F(CurlMultiTest, LongReplyToAStreamIsCutOffAndItsStatusKept) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(Reply(502, std::string(1U << 20, '<')));
    connection.WaitForClose();
  });
  const Told told = Stream();
  ASSERT_TRUE(told.reply);
  ASSERT_TRUE(told.reply->has_value()) << told.reply->error().message;
  EXPECT_EQ((*told.reply)->status, 502);
  EXPECT_EQ((*told.reply)->body, std::string(64U << 10, '<'));
}

TEST_F(CurlMultiTest, StreamThatCannotConnectIsAReplyWithAnError) {
  FakeCredentials credentials;
  int port = 0;
  {
    const RawServer gone([](RawServer::Connection&) {});
    port = gone.port();
  }
  multi_.emplace(Endpoint{.url = "http://127.0.0.1:" + std::to_string(port)}, credentials, "test",
                 0);
  int status = -1;
  multi_->SetOnExchange([&](const ExchangeReport& report) { status = report.status; });
  const Told told = Stream();
  ASSERT_TRUE(told.reply);
  ASSERT_FALSE(told.reply->has_value());
  EXPECT_EQ(told.reply->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(status, 0);
  multi_.reset();
}

TEST_F(CurlMultiTest, StreamThatIsOfNoMoreUseEndsWithoutAnErrorAndClosesItsConnection) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead + Chunk("enough"));
    connection.WaitForClose();
  });
  const Told told = Stream();
  ASSERT_TRUE(told.end);
  EXPECT_TRUE(told.end->has_value());
  EXPECT_EQ(multi_->under_way(), 0U);
}

TEST_F(CurlMultiTest, CR2_UnauthorizedStreamIsOpenedOnceMoreWithTheNextToken) {
  Connect([](RawServer::Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      const bool is_new = request.find("Bearer new\r\n") != std::string::npos;
      connection.Write(is_new ? kChunkedHead + Chunk("hello") + "0\r\n\r\n" : Reply(401, "no"));
    }
  });
  FakeCredentials credentials({"old", "new"});
  multi_.emplace(Endpoint{.url = server_->url()}, credentials, "test", 0);
  const Told told = Stream();
  EXPECT_EQ(told.data, "hello");
  EXPECT_TRUE(told.end);
  EXPECT_EQ(credentials.invalidations(), 1U);
  multi_.reset();
}

TEST_F(CurlMultiTest, AbandonedExchangeIsNeverHeardOfAgain) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead + Chunk("hello"));
    connection.WaitForClose();
  });
  Told told;
  const CurlMulti::Id id = multi_->Open({.path = "/watch"}, Into(told));
  PollUntil([&] { return !told.data.empty(); });
  multi_->Abandon(id);
  multi_->Abandon(id);
  multi_->Abandon(12345);
  EXPECT_EQ(multi_->under_way(), 0U);
  multi_->Poll(milliseconds(0));
  EXPECT_FALSE(told.IsOver());
}

TEST_F(CurlMultiTest, CallbacksMayBeginAndAbandonExchanges) {
  Connect([](RawServer::Connection& connection) {
    while (!connection.ReadRequest().empty()) connection.Write(Reply(200, "x"));
  });
  std::vector<CurlMulti::Id> ids;
  int replies = 0;
  bool next_done = false;
  const auto on_reply = [&](const Result<Response>& reply) {
    EXPECT_TRUE(reply) << reply.error().message;
    ++replies;
    for (const CurlMulti::Id id : ids) multi_->Abandon(id);  // Those that are done as well, too.
    multi_->Send({.path = "/next"}, [&](const Result<Response>&) { next_done = true; });
  };
  for (int i = 0; i < 5; ++i) ids.push_back(multi_->Send({.path = "/x"}, on_reply));
  PollUntil([&] { return next_done; });
  EXPECT_EQ(replies, 1);
  EXPECT_EQ(multi_->under_way(), 0U);
}

TEST_F(CurlMultiTest, TR2_EachStreamHasAConnectionOfItsOwn) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.Write(kChunkedHead + Chunk("hello"));
    connection.WaitForClose();
  });
  std::vector<Told> told(20);
  for (Told& one : told) multi_->Open({.path = "/watch"}, Into(one));
  for (const Told& one : told) PollUntil([&] { return one.data == "hello"; });
  EXPECT_EQ(server_->connections(), 20);
}

TEST_F(CurlMultiTest, WakeEndsAPollFromAnotherThreadAndAlsoTheNextOne) {
  Connect([](RawServer::Connection& connection) { connection.WaitForClose(); });
  std::atomic<int> ended = 0;
  const std::jthread poller([&] {
    for (; ended < 2; ++ended)
      multi_->Poll(10 * base::kHangs);  // Of which nothing else could be the end.
  });
  for (const int polls : {1, 2}) {
    multi_->Wake();
    EXPECT_TRUE(base::WaitUntil([&] { return ended == polls; }));
  }
}

TEST_F(CurlMultiTest, ItCanGoWhileExchangesAreUnderWay) {
  Connect([](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    connection.WaitForClose();
  });
  Told told;
  multi_->Open({.path = "/watch"}, Into(told));
  PollUntil([&] { return server_->requests().size() == 1; });
  multi_.reset();
  EXPECT_FALSE(told.IsOver());
}

}  // namespace
}  // namespace http
