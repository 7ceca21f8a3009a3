#include "pkg/tls/self_signed.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>

#include "pkg/tls/openssl.h"

namespace tls {
namespace {

using base::Invalid;

constexpr std::size_t kNameMax = 63;  // A common name may have 64.
constexpr int kSerialBits = 127;      // Positive and unique.
constexpr long kEarlier = -60L * 60;  // Clocks differ.
constexpr long kYear = 365L * 24 * 60 * 60;

bool IsHostName(const std::string& name) {
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

bool AddExtension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetSerial(X509* certificate) {
  const Number serial(BN_new());
  return serial != nullptr &&
         BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool Name(X509* certificate, const std::string& dns_name) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(dns_name.data());
  return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC, text,
                                    static_cast<int>(dns_name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1;
}

// Null if OpenSSL fails.
Certificate SignFor(EVP_PKEY* key, const std::string& dns_name) {
  Certificate certificate(X509_new());
  X509* const made = certificate.get();
  const bool is_made =
      made != nullptr && X509_set_version(made, X509_VERSION_3) == 1 && SetSerial(made) &&
      Name(made, dns_name) && X509_gmtime_adj(X509_getm_notBefore(made), kEarlier) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(made), kYear) != nullptr &&
      X509_set_pubkey(made, key) == 1 &&
      AddExtension(made, NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(made, NID_key_usage, "critical,digitalSignature") &&
      AddExtension(made, NID_ext_key_usage, "serverAuth") &&
      AddExtension(made, NID_subject_alt_name, "DNS:" + dns_name + ",DNS:localhost,IP:127.0.0.1") &&
      X509_sign(made, key, EVP_sha256()) > 0;
  if (!is_made) return {};
  return certificate;
}

}  // namespace

base::Result<Identity> MakeSelfSigned(const std::string& dns_name) {
  if (!IsHostName(dns_name)) return Invalid("\"" + dns_name + "\" can be no name in a certificate");
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = key == nullptr ? Certificate() : SignFor(key.get(), dns_name);
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_mem()));
  const bool is_written =
      certificate != nullptr && certificate_text != nullptr && key_text != nullptr &&
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1 &&
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
          1;
  ERR_clear_error();
  if (!is_written) return base::Unavailable("OpenSSL has made no certificate");
  return Identity{.certificate_pem = TextOf(certificate_text.get()),
                  .key_pem = TextOf(key_text.get())};
}

}  // namespace tls
