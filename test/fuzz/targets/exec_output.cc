// What an exec plugin prints.
#include "pkg/json/utf8.h"
#include "pkg/kube/client/exec_plugin.h"
#include "pkg/tls/pem.h"
#include "test/fuzz/fuzz.h"

// The output of an exec plugin:
//  - is refused with kInvalid and one line that begins with "printed" and repeats next to nothing
//  of it, for it is
//    secret;
//  - or is a token that may stand in a header, or a certificate with its key, or both.
FUZZ_TARGET(exec_output, bytes) {
  constexpr const char* kVersion = "client.authentication.k8s.io/v1";
  const base::Clock::WallTime now(std::chrono::hours(500'000));
  const auto read = kube::DecodeExecCredential(bytes, kVersion, now);
  if (!read) {
    const std::string& message = read.error().message;
    CHECK(read.error().code == base::ErrorCode::kInvalid);
    CHECK(message.starts_with("printed ") && message.size() < 400);
    CHECK(message.find('\n') == std::string::npos && json::IsUtf8(message));
    return;
  }
  CHECK(!read->token.empty() || !read->client_certificate_pem.empty());
  CHECK(read->client_certificate_pem.empty() == read->client_key_pem.empty());
  for (const char c : read->token) CHECK(c > ' ' && c < '\x7f');
  if (!read->client_key_pem.empty()) {
    CHECK(tls::CheckPair(read->client_certificate_pem, read->client_key_pem));
  }
}
