#include "pkg/tls/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <limits>

#include "pkg/tls/openssl.h"

namespace tls {
namespace {

using base::Invalid, base::Result;

Bio ReaderOf(const std::string& pem) {
  constexpr std::size_t kSizeMax = std::numeric_limits<int>::max();
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(std::min(pem.size(), kSizeMax))));
}

// Without this, OpenSSL would ask on the terminal.
int NoPassphrase(char* /*text*/, int /*size*/, int /*verify*/, void* /*unused*/) { return -1; }

Certificate NextCertificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, &NoPassphrase, nullptr));
}

Key ReadKey(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(ReaderOf(pem).get(), nullptr, &NoPassphrase, nullptr));
}

// Clears the thread's OpenSSL errors, or the next check would find this one.
bool LastErrorIsEndOfText() {
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return is_end;
}

bool IsBase64Digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

// OpenSSL ignores everything after an apparent end, and padding anywhere, so check both here.
Result<std::string> DecodeBase64(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    const bool is_padding = c == '=' && digits.size() % 4 >= 2;
    if (!is_padding && (!IsBase64Digit(c) || digits.ends_with('='))) {
      return Invalid("not base64 at character " + std::to_string(i + 1));
    }
    digits += c;
  }
  if (digits.size() % 4 != 0) return Invalid("base64 that breaks off");
  std::string bytes(digits.size() / 4 * 3, '\0');
  EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), Bytes(digits),
                  static_cast<int>(digits.size()));
  bytes.resize(bytes.size() - static_cast<std::size_t>(std::ranges::count(digits, '=')));
  return bytes;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a zero.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Bytes(bytes),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

Result<void> CheckCertificates(const std::string& pem) {
  const Bio bio = ReaderOf(pem);
  int count = 0;
  while (NextCertificate(bio.get()) != nullptr) ++count;
  if (!LastErrorIsEndOfText()) {
    return Invalid("certificate " + std::to_string(count + 1) + " cannot be read");
  }
  if (count == 0) return Invalid("no PEM certificate in it");
  return {};
}

Result<void> CheckKey(const std::string& pem) {
  const bool is_encrypted = pem.find("ENCRYPTED") != std::string::npos;
  const bool is_readable = ReadKey(pem) != nullptr;
  ERR_clear_error();
  if (is_readable) return {};
  if (is_encrypted) return Invalid("the key has a passphrase, for which nobody can be asked");
  return Invalid("no PEM private key that can be read in it");
}

Result<void> CheckPair(const std::string& certificate_pem, const std::string& key_pem) {
  TRY(CheckCertificates(certificate_pem));
  TRY(CheckKey(key_pem));
  const Certificate certificate = NextCertificate(ReaderOf(certificate_pem).get());
  const bool matches = X509_check_private_key(certificate.get(), ReadKey(key_pem).get()) == 1;
  ERR_clear_error();
  if (!matches) return Invalid("the key is not that of the certificate");
  return {};
}

}  // namespace tls
