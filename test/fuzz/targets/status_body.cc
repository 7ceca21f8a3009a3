// The body of a reply that is no success, of an API server or of anybody in between:
//  - its error's message is one line of UTF-8 without controls, of at most 2 KiB, its cause one of
//    at most 64 bytes, and it asks for a wait of 0 to 120 s or for none;
//  - the code is one that the status may have; a write of which nobody knows whether it was done is
//    never kUnavailable, for then it would be sent again.
#include "pkg/json/utf8.h"
#include "pkg/kube/client/request.h"
#include "test/fuzz/hostile.h"

namespace {

using base::ErrorCode;

void CheckPart(const std::string& text, std::size_t most) {
  CHECK(text.size() <= most);
  fuzz::CheckSame(json::OneLine(text, most), text);
}

void CheckError(const base::Error& error) {
  CheckPart(error.message, 2048);
  CheckPart(error.cause, 64);
  if (error.retry_after) {
    CHECK(*error.retry_after >= std::chrono::seconds(0));
    CHECK(*error.retry_after <= std::chrono::seconds(120));
  }
}

// A Status with `code`, which may say anything else.
std::string StatusOf(fuzz::Input& input, int code) {
  json::Value status = json::Value::Object({{"kind", "Status"},
                                            {"code", code},
                                            {"reason", "AlreadyExists"},
                                            {"message", fuzz::Text(input)}});
  status["details"]["retryAfterSeconds"] = input.ConsumeIntegral<std::int64_t>();
  status["details"]["causes"].Append(json::Value::Object({{"reason", fuzz::Text(input)}}));
  fuzz::Spoil(input, status);
  return json::Serialize(status);
}

}  // namespace

FUZZ_TARGET(status_body, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const int status = input.ConsumeIntegralInRange(100, 700);
  const auto method = input.ConsumeBool() ? http::Method::kGet : http::Method::kPost;
  http::Response response = {.status = status};
  if (input.ConsumeBool()) {
    response.retry_after = std::chrono::seconds(input.ConsumeIntegral<std::int64_t>());
  }
  const bool may_wait = response.retry_after.has_value();
  response.body =
      input.ConsumeBool() ? StatusOf(input, status) : input.ConsumeRemainingBytesAsString();

  const auto reply = kube::CheckStatus(response, method);
  const bool is_success = status >= 200 && status < 300;
  CHECK(reply.has_value() == is_success);
  if (is_success) return;
  const base::Error& error = reply.error();
  CheckError(error);
  const bool is_redirect = status >= 300 && status < 400;
  const bool may_have_been_done = !may_wait && !error.retry_after && !is_redirect;
  if (method == http::Method::kPost && may_have_been_done) {
    CHECK(error.code != ErrorCode::kUnavailable);
  }
  if (method == http::Method::kGet) CHECK(error.code != ErrorCode::kUnknownOutcome);
  // A watch says the same in an event, where there is no other status.
  json::Parser parser;
  if (const auto body = parser.Parse(response.body)) {
    for (const int code : {0, status}) {
      base::Error said = kube::StatusError(*body, code);
      CheckError(said);
      CHECK(said.code != ErrorCode::kUnknownOutcome);
    }
  }
}
