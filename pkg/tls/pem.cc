#include "pkg/tls/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

namespace tls {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Bio ReaderOf(const std::string& pem) {
  constexpr std::size_t kSizeMax = std::numeric_limits<int>::max();
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(std::min(pem.size(), kSizeMax))));
}

// OpenSSL would ask on the terminal.
int NoPassphrase(char* /*text*/, int /*size*/, int /*verify*/, void* /*unused*/) { return -1; }

Certificate NextCertificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, &NoPassphrase, nullptr));
}

Key ReadKey(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(ReaderOf(pem).get(), nullptr, &NoPassphrase, nullptr));
}

// OpenSSL's errors stay in a queue of the thread, where the next one to look would find them.
bool LastErrorIsEndOfText() {
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return is_end;
}

int SixBitsOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

Result<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  int digits = 0;  // In the group of four.
  int padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    const int bits = SixBitsOf(c);
    const bool is_padding = c == '=' && digits >= 2;
    if (is_padding ? padding == 2 : bits < 0 || padding > 0) {
      return Fail(ErrorCode::kInvalid, "not base64 at character " + std::to_string(i + 1));
    }
    padding += is_padding ? 1 : 0;
    group = group << 6 | static_cast<std::uint32_t>(is_padding ? 0 : bits);
    if (++digits < 4) continue;
    const char decoded[] = {static_cast<char>(group >> 16), static_cast<char>(group >> 8),
                            static_cast<char>(group)};
    bytes.append(decoded, static_cast<std::size_t>(3 - padding));
    group = 0;
    digits = 0;
  }
  if (digits != 0) return Fail(ErrorCode::kInvalid, "base64 that breaks off");
  return bytes;
}

std::string EncodeBase64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j > count ? '=' : kDigits[group >> (18 - 6 * j) & 63U];
    }
  }
  return text;
}

Result<void> CheckCertificates(const std::string& pem) {
  const Bio bio = ReaderOf(pem);
  int count = 0;
  while (NextCertificate(bio.get()) != nullptr) ++count;
  if (!LastErrorIsEndOfText()) {
    return Fail(ErrorCode::kInvalid,
                "certificate " + std::to_string(count + 1) + " cannot be read");
  }
  if (count == 0) return Fail(ErrorCode::kInvalid, "no PEM certificate in it");
  return {};
}

Result<void> CheckKey(const std::string& pem) {
  const bool is_encrypted = pem.find("ENCRYPTED") != std::string::npos;
  const bool is_readable = ReadKey(pem) != nullptr;
  ERR_clear_error();
  if (is_readable) return {};
  if (is_encrypted) {
    return Fail(ErrorCode::kInvalid, "the key has a passphrase, for which nobody can be asked");
  }
  return Fail(ErrorCode::kInvalid, "no PEM private key that can be read in it");
}

Result<void> CheckPair(const std::string& certificate_pem, const std::string& key_pem) {
  TRY(CheckCertificates(certificate_pem));
  TRY(CheckKey(key_pem));
  const Certificate certificate = NextCertificate(ReaderOf(certificate_pem).get());
  const bool matches = X509_check_private_key(certificate.get(), ReadKey(key_pem).get()) == 1;
  ERR_clear_error();
  if (!matches) return Fail(ErrorCode::kInvalid, "the key is not that of the certificate");
  return {};
}

}  // namespace tls
