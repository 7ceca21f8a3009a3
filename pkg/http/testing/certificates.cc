#include "pkg/http/testing/certificates.h"

#include <openssl/pem.h>

#include <atomic>

#include "pkg/base/check.h"
#include "pkg/tls/openssl.h"

namespace http::testing {
namespace {

using tls::Bio;
using tls::Extension;
using tls::Key;
using tls::TextOf;
using X509Certificate = tls::Certificate;

constexpr long kDay = 24 * 60 * 60;

std::string PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return TextOf(bio.get());
}

std::string PemOf(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return TextOf(bio.get());
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  CHECK(extension != nullptr);
  CHECK(X509_add_ext(certificate, extension.get(), -1) == 1);
}

// If `issuer` is null, the certificate is self-signed.
X509Certificate NewCertificate(const std::string& name, EVP_PKEY* key, X509* issuer) {
  static std::atomic<long> serial = 0;
  X509Certificate certificate(X509_new());
  CHECK(X509_set_version(certificate.get(), X509_VERSION_3) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(),
                       issuer == nullptr ? subject : X509_get_subject_name(issuer));
  return certificate;
}

}  // namespace

struct CertificateAuthority::State {
  Key key;
  X509Certificate certificate;
};

CertificateAuthority::CertificateAuthority(const std::string& name)
    : state_(std::make_unique<State>()) {
  state_->key.reset(EVP_EC_gen("P-256"));
  X509* const self = (state_->certificate = NewCertificate(name, state_->key.get(), nullptr)).get();
  AddExtension(self, self, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign");
  CHECK(X509_sign(self, state_->key.get(), EVP_sha256()) > 0);
  pem_ = PemOf(self);
}

CertificateAuthority::~CertificateAuthority() = default;

Certificate CertificateAuthority::Issue(const std::string& name,
                                        const std::string& alternative_names) const {
  X509* const issuer = state_->certificate.get();
  const Key key(EVP_EC_gen("P-256"));
  const X509Certificate certificate = NewCertificate(name, key.get(), issuer);
  AddExtension(certificate.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(certificate.get(), issuer, NID_subject_alt_name, alternative_names);
  CHECK(X509_sign(certificate.get(), state_->key.get(), EVP_sha256()) > 0);
  return {.pem = PemOf(certificate.get()), .key_pem = PemOf(key.get())};
}

}  // namespace http::testing
