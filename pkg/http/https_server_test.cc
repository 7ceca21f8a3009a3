#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/server.h"
#include "pkg/http/testing/certificates.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_client.h"

namespace http {
namespace {

using base::Result;
using testing::CertificateAuthority;
using testing::RawClient;

class HttpsServer : public ::testing::Test {
 protected:
  HttpsServer() {
    const Result<int> port = server_.Start("127.0.0.1:0", IdentityOf("localhost"));
    EXPECT_TRUE(port);
    port_ = port.value_or(0);
  }
  ~HttpsServer() override { released_.count_down(); }

  tls::Identity IdentityOf(const std::string& name) const {
    const testing::Certificate made = ca_.Issue(name, "DNS:" + name);
    return {.certificate_pem = made.pem, .key_pem = made.key_pem};
  }
  // "<status> <body>", or why there is none; the server proves that it is `name`.
  std::string Get(const std::string& path, const std::string& name = "localhost") const {
    testing::FakeCredentials credentials({"secret"});
    CurlTransport transport({.url = "https://127.0.0.1:" + std::to_string(port_),
                             .ca_pem = ca_.pem(),
                             .tls_server_name = name},
                            credentials, "test");
    const Result<Response> reply = transport.Send({.path = path});
    return reply ? std::to_string(reply->status) + " " + reply->body.text() : reply.error().message;
  }
  Server::Answer Answer(const ServerRequest& request) {
    if (request.path == "/large") {
      return [this] { return ServerReply{.body = large_}; };
    }
    if (request.path == "/wait") {
      return [this] {
        began_.count_down();
        released_.wait();
        return ServerReply{.body = "waited"};
      };
    }
    return ServerReply{.body = request.path + " " + request.authorization};
  }

  const std::string large_ = std::string(8U << 20, 'x');
  std::latch began_{1};
  std::latch released_{1};
  CertificateAuthority ca_{"the CA of the test"};
  base::ManualClock clock_;
  Server server_{[this](const ServerRequest& request) { return Answer(request); }, clock_};
  int port_ = 0;
};

TEST_F(HttpsServer, REV3_X8_RequestIsAnsweredOverTls) {
  EXPECT_EQ(Get("/a"), "200 /a Bearer secret");
  EXPECT_EQ(Get("/large"), "200 " + large_);
  EXPECT_NE(Get("/a", "elsewhere").find("elsewhere"), std::string::npos) << "it proves its name";
}

TEST_F(HttpsServer, REV3_X8_ClearTextIsNotAnswered) {
  const RawClient client(port_);
  client.Write("GET /a HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.ReadAll().find("HTTP/"), std::string::npos);
  EXPECT_EQ(Get("/a"), "200 /a Bearer secret");
}

// Whether a client that knows no newer version of TLS gets a connection.
bool Connects(int port, int version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
  SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0");
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_ssl_connect(context.get()),
                                                          &BIO_free_all);
  BIO_set_conn_hostname(bio.get(), ("127.0.0.1:" + std::to_string(port)).c_str());
  return BIO_do_handshake(bio.get()) == 1;
}

TEST_F(HttpsServer, REV3_X8_OldVersionsOfTlsAreRefused) {
  EXPECT_TRUE(Connects(port_, TLS1_3_VERSION));
  EXPECT_TRUE(Connects(port_, TLS1_2_VERSION));
  EXPECT_FALSE(Connects(port_, TLS1_1_VERSION));
  EXPECT_FALSE(Connects(port_, TLS1_VERSION));
}

TEST_F(HttpsServer, REV3_X8_HandshakeThatDoesNotEndIsCutOffAfterFiveSeconds) {
  const RawClient silent(port_);
  const RawClient slow(port_);
  slow.Write("\x16\x03\x01");  // The beginning of a handshake.
  EXPECT_EQ(Get("/a"), "200 /a Bearer secret");
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(slow.ReadAll(), "");
}

TEST_F(HttpsServer, REV3_X8_NewClientTakesThePlaceOfTheOldestOfAHundred) {
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 400; ++i) idle.push_back(std::make_unique<RawClient>(port_));
  EXPECT_EQ(Get("/a"), "200 /a Bearer secret");
  EXPECT_EQ(idle.front()->ReadAll(), "");
}

TEST_F(HttpsServer, REV3_X8_NextIdentityIsUsedOnceExchangesHaveEnded) {
  std::string waited;
  std::jthread client([&] { waited = Get("/wait"); });
  began_.wait();
  ASSERT_TRUE(server_.Use(IdentityOf("next")));
  std::string after;
  std::jthread other([&] { after = Get("/a", "next"); });
  released_.count_down();
  client.join();
  other.join();
  EXPECT_EQ(waited, "200 waited") << "it was not cut off";
  EXPECT_EQ(after, "200 /a Bearer secret");
}

TEST_F(HttpsServer, REV3_X8_IdentityThatCannotBeUsedChangesNothing) {
  tls::Identity mixed = IdentityOf("next");
  mixed.key_pem = "no key";
  const Result<void> used = server_.Use(mixed);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, base::ErrorCode::kInvalid);
  EXPECT_EQ(Get("/a"), "200 /a Bearer secret");
  Server other([](const ServerRequest&) { return ServerReply(); }, clock_);
  EXPECT_FALSE(other.Start("127.0.0.1:0", mixed));
}

}  // namespace
}  // namespace http
