// The transport, with libcurl below it, against a server on a socket that answers anything.
#include "pkg/http/curl_multi.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/fake_credentials.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/loopback.h"

namespace {

using base::ErrorCode;

constexpr std::size_t kBytesMax = 2000;
// Longer than libFuzzer waits: the server ends all that it begins, so nothing takes so long.
constexpr std::chrono::seconds kTimeout{60};

fuzz::HostileServer& Server() {
  static fuzz::HostileServer server;
  return server;
}

// An answer whose beginning is as it should be, so that what follows is looked at.
std::string AnyAnswer(fuzz::Input& input) {
  std::string answer;
  if (input.ConsumeBool()) {
    answer = "HTTP/1.1 " +
             std::to_string(
                 input.PickValueInArray({100, 101, 200, 204, 301, 304, 401, 407, 429, 500, 999})) +
             " \r\n";
  }
  for (int headers = input.ConsumeIntegralInRange(0, 3); headers > 0; --headers) {
    answer += input.PickValueInArray(
        {"Content-Length: 5\r\n", "Content-Length: 99999999999999999999\r\n",
         "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n", "Retry-After: 7\r\n",
         "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "Connection: close\r\n",
         "Location: http://169.254.169.254/\r\n", "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
         " folded\r\n", "WWW-Authenticate: Negotiate\r\n", "Set-Cookie: a=b\r\n",
         "Upgrade: h2c\r\n", "Content-Encoding: gzip\r\n", "Trailer: Retry-After\r\n"});
  }
  if (input.ConsumeBool()) answer += "\r\n";
  if (input.ConsumeBool()) answer += std::string(5000, 'a');
  return answer + input.ConsumeRemainingBytesAsString();
}

}  // namespace

// A request:
//  - is answered, with a body within its bound and a Retry-After of 0 to 120 s, or
//    by an error;
//  - is on the wire once, if it writes, save after a 401; and a write that went out and has no
//    reply is never told as not sent.
FUZZ_TARGET(transport, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const bool writes = input.ConsumeBool();
  const bool with_reset = input.ConsumeBool();
  Server().SetAnswer(AnyAnswer(input), with_reset);

  http::testing::FakeCredentials credentials({"one", "two"});
  http::CurlTransport transport({.url = Server().url()}, credentials, "cdom");
  const http::Request request = {.method = writes ? http::Method::kPost : http::Method::kGet,
                                 .path = "/api/v1/nodes",
                                 .content_type = writes ? "application/json" : "",
                                 .body = writes ? "{}" : "",
                                 .timeout = kTimeout,
                                 .response_bytes_max = kBytesMax};
  const auto reply = transport.Send(request);
  if (writes) CHECK(Server().requests() <= (credentials.invalidations() > 0 ? 2 : 1));
  if (reply) {
    CHECK(reply->status >= 100 && reply->status <= 999);
    CHECK(reply->body.size() <= kBytesMax);
    CHECK(!reply->retry_after || (*reply->retry_after >= std::chrono::seconds(0) &&
                                  *reply->retry_after <= std::chrono::seconds(120)));
    return;
  }
  const ErrorCode code = reply.error().code;
  if (writes) CHECK(code == ErrorCode::kUnknownOutcome || code == ErrorCode::kTooLarge);
  if (!writes) CHECK(code != ErrorCode::kUnknownOutcome);
}

namespace {

// A stream's bytes in chunks, with all that a server may put around them.
std::string Chunked(fuzz::Input& input, std::string_view payload) {
  std::string answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  while (!payload.empty()) {
    const auto size = input.ConsumeIntegralInRange<std::size_t>(1, 40);
    const std::string_view chunk = payload.substr(0, size);
    char digits[20] = {};
    std::snprintf(digits, sizeof digits, input.ConsumeBool() ? "%zx" : "%06zX", chunk.size());
    answer += digits;
    answer += input.PickValueInArray({"\r\n", ";a=b\r\n"});
    answer.append(chunk).append("\r\n");
    payload.remove_prefix(chunk.size());
  }
  return answer + "0\r\n" + input.PickValueInArray({"", "Retry-After: 5\r\n"}) + "\r\n";
}

}  // namespace

// A stream:
//  - ends, with exactly one of a reply and an end, told once;
//  - that is well formed delivers what the server sent, however it was cut, and ends cleanly;
//  - delivers nothing that is not of a 200.
FUZZ_TARGET(transport_stream, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const bool is_well_formed = input.ConsumeBool();
  const bool with_reset = !is_well_formed && input.ConsumeBool();
  const std::string payload = is_well_formed ? input.ConsumeRandomLengthString() : "";
  Server().SetAnswer(is_well_formed ? Chunked(input, payload) : AnyAnswer(input), with_reset);

  http::testing::FakeCredentials credentials;
  http::CurlMulti multi({.url = Server().url()}, credentials, "cdom", 0);
  std::string data;
  int replies = 0;
  int ends = 0;
  bool is_clean = false;
  multi.Open({.path = "/api/v1/nodes?watch=1", .timeout = kTimeout},
             {.on_data =
                  [&](std::string_view some) {
                    data += some;
                    return true;
                  },
              .on_reply =
                  [&](const base::Result<http::Response>& reply) {
                    ++replies;
                    CHECK(!reply || reply->status != 200);
                    CHECK(!reply || reply->body.size() <= 64U << 10);
                  },
              .on_end =
                  [&](const base::Result<void>& end) {
                    ++ends;
                    is_clean = end.has_value();
                  }});
  while (multi.under_way() > 0) multi.Poll(std::chrono::seconds(1));
  CHECK(replies + ends == 1);
  if (replies == 1) CHECK(data.empty());
  if (!is_well_formed) return;
  CHECK(ends == 1 && is_clean);
  fuzz::CheckSame(data, payload);
}
