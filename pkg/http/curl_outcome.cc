#include "pkg/http/curl_outcome.h"

#include <system_error>

namespace http {
namespace {

using base::ErrorCode;

std::string CauseOf(const CurlFailure& failure) {
  // libcurl says "Couldn't connect to server"; the system knows why.
  if (failure.code == CURLE_COULDNT_CONNECT && failure.os_error != 0) {
    return std::generic_category().message(failure.os_error);
  }
  return failure.detail.empty() ? curl_easy_strerror(failure.code) : failure.detail;
}

base::Error NotSent(const CurlFailure& failure) {
  std::string message = "connect to " + failure.host_and_port + ": " + CauseOf(failure);
  switch (failure.code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      message +=
          "; check that the CA given for this server is the one that signed its certificate,"
          " that the certificate names " +
          failure.server_name + " (or set tls-server-name) and that it has not expired";
      break;
    case CURLE_SSL_CACERT_BADFILE:
      message += "; check the CA given for this server";
      break;
    case CURLE_SSL_CERTPROBLEM:
      message += "; check the client certificate and its key";
      break;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {.code = ErrorCode::kInvalid, .message = std::move(message)};
    default:
      break;
  }
  return {.code = ErrorCode::kUnavailable, .message = std::move(message)};
}

}  // namespace

base::Error ToError(const CurlFailure& failure) {
  const std::string& server = failure.host_and_port;
  if (failure.passed_its_bound) {
    return {.code = failure.is_write ? ErrorCode::kUnknownOutcome : ErrorCode::kTooLarge,
            .message = "reply of " + server + " passed its bound"};
  }
  if (!failure.sent) return NotSent(failure);
  const bool timed_out = failure.code == CURLE_OPERATION_TIMEDOUT;
  const std::string message =
      timed_out ? "no whole reply from " + server + ": " + CauseOf(failure)
                : "connection to " + server + " lost before the whole reply: " + CauseOf(failure);
  if (failure.is_write) return {.code = ErrorCode::kUnknownOutcome, .message = message};
  if (timed_out) return {.code = ErrorCode::kDeadlineExceeded, .message = message};
  return {.code = ErrorCode::kUnavailable, .message = message};
}

}  // namespace http
