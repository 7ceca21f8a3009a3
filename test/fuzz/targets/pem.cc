// Certificates and keys, and the base64 around them, as kubeconfig files have them.
#include "pkg/tls/pem.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>

#include "test/fuzz/fuzz.h"

namespace {

std::string TheirBase64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

// base64:
//  - of any bytes, as OpenSSL writes it, those bytes are read, with blanks in between too;
//  - of any text that is read, what OpenSSL writes is that text without its blanks, or one that
//    differs in bits that stand for nothing.
FUZZ_TARGET(base64, bytes) {
  const std::string plain(bytes);
  const std::string encoded = TheirBase64(plain);
  const auto decoded = tls::DecodeBase64(encoded);
  CHECK(decoded && *decoded == plain);
  std::string with_blanks;
  for (const char c : encoded) with_blanks += std::string(1, c) + (c == 'A' ? "\r\n" : "");
  CHECK(tls::DecodeBase64(with_blanks) == plain);

  const auto read = tls::DecodeBase64(bytes);
  if (!read) return;
  std::string compact = plain;
  std::erase_if(compact, [](char c) { return std::string_view(" \t\r\n").find(c) < 4; });
  const std::string again = TheirBase64(*read);
  CHECK(again.size() == compact.size());
  CHECK(tls::DecodeBase64(again) == *read);
}

// PEM:
//  - a pair is one only if both of its halves are good by themselves;
//  - what is wrong is said in a short sentence of ours;
//  - OpenSSL's queue of errors is empty again, where the next one to look would find ours.
FUZZ_TARGET(pem, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const std::string one = input.ConsumeRandomLengthString();
  const std::string other = input.ConsumeRemainingBytesAsString();
  const auto certificates = tls::CheckCertificates(one);
  const auto key = tls::CheckKey(other);
  const auto pair = tls::CheckPair(one, other);
  CHECK(ERR_peek_error() == 0);
  CHECK(!pair || (certificates && key));
  for (const auto* result : {&certificates, &key, &pair}) {
    if (*result) continue;
    CHECK(result->error().code == base::ErrorCode::kInvalid);
    CHECK(result->error().message.size() < 100);
  }
  // Also where the certificates are with the key, as in a file of both.
  static_cast<void>(tls::CheckPair(one + other, one + other));
  CHECK(ERR_peek_error() == 0);
}
