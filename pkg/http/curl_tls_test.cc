#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/certificates.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"

namespace http {
namespace {

using base::ErrorCode;
using base::Result;
using testing::Certificate;
using testing::CertificateAuthority;
using testing::FakeCredentials;

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
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

// The value of the Host header of the request that is read.
std::string ReadHost(SSL* tls) {
  constexpr std::string_view kName = "Host: ";
  std::string head;
  std::array<char, 4096> bytes = {};
  while (head.find("\r\n\r\n") == std::string::npos) {
    const int count = SSL_read(tls, bytes.data(), static_cast<int>(bytes.size()));
    if (count <= 0) return {};
    head.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const std::size_t begin = head.find(kName) + kName.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

// Answers a request with its Host header.
class TlsServer {
 public:
  // `client_ca` empty: no certificate is asked of clients.
  explicit TlsServer(const Certificate& certificate, const std::string& client_ca = "",
                     int tls_version_max = TLS1_3_VERSION) {
    std::signal(SIGPIPE, SIG_IGN);  // A client that believes nothing hangs up while we speak.
    SSL_CTX* const context = context_.get();
    SSL_CTX_use_certificate(context, ReadCertificate(certificate.pem).get());
    SSL_CTX_use_PrivateKey(context, ReadKey(certificate.key_pem).get());
    SSL_CTX_set_security_level(context, 0);  // So that old versions can be offered at all.
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, tls_version_max);
    if (client_ca.empty()) return;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ReadCertificate(client_ca).get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }

  std::string host_and_port() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  std::string url() const { return "https://" + host_and_port(); }

 private:
  void Serve(const testing::RawServer::Connection& connection) {
    const std::unique_ptr<SSL, FreeOpenSsl> tls(SSL_new(context_.get()));
    SSL_set_fd(tls.get(), connection.fd());
    if (SSL_accept(tls.get()) != 1) return;
    const std::string reply = testing::Reply(200, ReadHost(tls.get()));
    SSL_write(tls.get(), reply.data(), static_cast<int>(reply.size()));
    SSL_shutdown(tls.get());
  }

  const std::unique_ptr<SSL_CTX, FreeOpenSsl> context_{SSL_CTX_new(TLS_server_method())};
  testing::RawServer server_{[this](const auto& connection) { Serve(connection); }};
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
