#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace base {

// What the caller must do next. Compare codes, never messages.
enum class ErrorCode {
  kUnavailable,       // Nothing was done; retry the call.
  kUnknownOutcome,    // A write whose reply was lost: it may have happened. Read again.
  kDeadlineExceeded,  // Retry a read, if there is still time.
  kTooManyRequests,   // Retry after `retry_after`.
  kConflict,          // Read again and redo the whole reconcile.
  kGone,              // List again.
  kNotFound,          // Often success.
  kAlreadyExists,     // Look at whose it is.
  kInvalid,           // Wait for the object to change.
  kForbidden,         // Report it to the administrator; retry slowly.
  kUnauthorized,      // Read the credentials again, then retry once.
  kTooLarge,          // A body over its bound. Report it; do not retry as it is.
};

struct Error {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string message = {};
  std::optional<std::chrono::seconds> retry_after = {};  // What the server asked for.
  std::string cause = {};  // Its word for why, such as NamespaceTerminating; empty: it has none.

  // A write ends in one of three ways: done, not done (an error), or unknown. Of an unknown one
  // nothing is concluded before its object was read again.
  [[nodiscard]] bool MayBeDone() const { return code == ErrorCode::kUnknownOutcome; }
};

template <typename T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected(Error{.code = code, .message = std::move(message)});
}
[[nodiscard]] inline tl::unexpected<Error> Invalid(std::string message) {
  return Fail(ErrorCode::kInvalid, std::move(message));
}
[[nodiscard]] inline tl::unexpected<Error> Unavailable(std::string message) {
  return Fail(ErrorCode::kUnavailable, std::move(message));
}

// For map_error: says what was attempted, as in "create DaemonSet: 403 forbidden: ...".
[[nodiscard]] inline auto While(std::string attempt) {
  return [attempt = std::move(attempt)](Error error) {
    error.message = attempt + ": " + error.message;
    return error;
  };
}

namespace internal {
// tl::expected has no operator* for void, hence two overloads for TRY.
template <typename T>
T Take(Result<T>&& result) {
  return *std::move(result);
}
inline void Take(Result<void>&& /*result*/) {}
}  // namespace internal
}  // namespace base

// The value of `expression`, or else a return from this function with its Error.
#define TRY(expression)                                     \
  __extension__({                                           \
    auto try_result = (expression);                         \
    if (!try_result) [[unlikely]]                           \
      return tl::unexpected(std::move(try_result).error()); \
    base::internal::Take(std::move(try_result));            \
  })
