#include <gtest/gtest.h>
#include <httplib.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string>
#include <thread>
#include <vector>

#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/certificates.h"
#include "pkg/http/testing/fake_credentials.h"

namespace http {
namespace {

using base::ErrorCode;
using base::Result;
using testing::Certificate;
using testing::CertificateAuthority;
using testing::FakeCredentials;

constexpr const char* kHost = "127.0.0.1";

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
};

std::unique_ptr<X509, FreeOpenSsl> ReadCertificate(const std::string& pem) {
  const std::unique_ptr<BIO, FreeOpenSsl> bio(BIO_new_mem_buf(pem.data(), -1));
  return std::unique_ptr<X509, FreeOpenSsl>(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

std::unique_ptr<EVP_PKEY, FreeOpenSsl> ReadKey(const std::string& pem) {
  const std::unique_ptr<BIO, FreeOpenSsl> bio(BIO_new_mem_buf(pem.data(), -1));
  return std::unique_ptr<EVP_PKEY, FreeOpenSsl>(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

// Answers GET /who with the Host header, and the common name of the client's certificate.
class TlsServer {
 public:
  // `client_ca` empty: no certificate is asked of clients.
  explicit TlsServer(const Certificate& certificate, const std::string& client_ca = "",
                     int tls_version_max = TLS1_3_VERSION)
      : server_([&](SSL_CTX& context) {
          SSL_CTX_use_certificate(&context, ReadCertificate(certificate.pem).get());
          SSL_CTX_use_PrivateKey(&context, ReadKey(certificate.key_pem).get());
          SSL_CTX_set_security_level(&context, 0);  // So that old versions can be offered at all.
          SSL_CTX_set_min_proto_version(&context, TLS1_VERSION);
          SSL_CTX_set_max_proto_version(&context, tls_version_max);
          if (client_ca.empty()) return true;
          X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), ReadCertificate(client_ca).get());
          SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
          return true;
        }) {
    server_.Get("/who", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(request.get_header_value("Host"), "text/plain");
    });
    port_ = server_.bind_to_any_port(kHost);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~TlsServer() {
    server_.stop();
    thread_.join();
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] std::string host_and_port() const {
    return std::string(kHost) + ":" + std::to_string(port_);
  }
  [[nodiscard]] std::string url() const { return "https://" + host_and_port(); }

 private:
  httplib::SSLServer server_;
  int port_ = 0;
  std::thread thread_;
};

class CurlTls : public ::testing::Test {
 protected:
  static Result<Response> Ask(Endpoint endpoint) {
    FakeCredentials credentials;
    CurlTransport transport(std::move(endpoint), credentials, "test");
    return transport.Send({.path = "/who"});
  }

  static void ExpectUnavailable(const Result<Response>& reply,
                                const std::vector<std::string>& parts) {
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
    for (const std::string& part : parts) {
      EXPECT_NE(reply.error().message.find(part), std::string::npos) << reply.error().message;
    }
  }

  const CertificateAuthority ca_{"cluster CA"};
  const CertificateAuthority other_ca_{"other CA"};
};

TEST_F(CurlTls, ServerWhoseCertificateTheCaSignedForItsAddressIsBelieved) {
  const TlsServer server(ca_.Issue("server", "IP:127.0.0.1"));
  const Result<Response> reply = Ask({.url = server.url(), .ca_pem = ca_.pem()});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, server.host_and_port());
}

TEST_F(CurlTls, ServerOfAnotherCaIsUnavailableAndTheErrorSaysWhatToCheck) {
  const TlsServer server(ca_.Issue("server", "IP:127.0.0.1"));
  ExpectUnavailable(Ask({.url = server.url(), .ca_pem = other_ca_.pem()}),
                    {server.host_and_port(), "CA given for this server"});
}

TEST_F(CurlTls, ServerOfAnotherNameIsUnavailableAndTheErrorNamesIt) {
  const TlsServer server(ca_.Issue("server", "DNS:api.example"));
  ExpectUnavailable(Ask({.url = server.url(), .ca_pem = ca_.pem()}),
                    {"names 127.0.0.1", "tls-server-name"});
}

TEST_F(CurlTls, ServerWithACaOfItsOwnIsNotBelievedByTheSystems) {
  const TlsServer server(ca_.Issue("server", "IP:127.0.0.1"));
  ExpectUnavailable(Ask({.url = server.url()}), {"CA given for this server"});
}

TEST_F(CurlTls, InsecureBelievesAnybody) {
  const TlsServer server(ca_.Issue("server", "DNS:api.example"));
  EXPECT_TRUE(Ask({.url = server.url(), .insecure = true}));
}

TEST_F(CurlTls, KC2_TlsServerNameIsVerifiedWhileTheHostIsStillWhatTheServerKnows) {
  const TlsServer server(ca_.Issue("server", "DNS:api.example"));
  const Result<Response> reply =
      Ask({.url = server.url(), .ca_pem = ca_.pem(), .tls_server_name = "api.example"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, server.host_and_port());
  ExpectUnavailable(
      Ask({.url = server.url(), .ca_pem = ca_.pem(), .tls_server_name = "other.example"}),
      {"names other.example", server.host_and_port()});
}

TEST_F(CurlTls, ClientCertificateIsShownAndItsAbsenceRefused) {
  const TlsServer server(ca_.Issue("server", "IP:127.0.0.1"), ca_.pem());
  const Certificate client = ca_.Issue("admin", "DNS:admin");
  const Result<Response> reply = Ask({.url = server.url(),
                                      .ca_pem = ca_.pem(),
                                      .client_certificate_pem = client.pem,
                                      .client_key_pem = client.key_pem});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  ExpectUnavailable(Ask({.url = server.url(), .ca_pem = ca_.pem()}), {server.host_and_port()});
}

TEST_F(CurlTls, KeyThatDoesNotMatchIsUnavailableAndTheErrorSaysWhatToCheck) {
  const TlsServer server(ca_.Issue("server", "IP:127.0.0.1"));
  ExpectUnavailable(Ask({.url = server.url(),
                         .ca_pem = ca_.pem(),
                         .client_certificate_pem = ca_.Issue("admin", "DNS:admin").pem,
                         .client_key_pem = ca_.Issue("admin", "DNS:admin").key_pem}),
                    {"client certificate and its key"});
}

TEST_F(CurlTls, ServerThatSpeaksNothingAboveTls11IsRefused) {
  const TlsServer server(ca_.Issue("server", "IP:127.0.0.1"), "", TLS1_1_VERSION);
  ExpectUnavailable(Ask({.url = server.url(), .ca_pem = ca_.pem()}), {server.host_and_port()});
}

}  // namespace
}  // namespace http
