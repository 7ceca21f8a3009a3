// Errors and results of calls that may fail.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace base {

// Each code says what the caller must do next. Compare codes, never messages.
enum class ErrorCode {
  kUnavailable,       // Nothing was done; retry the call.
  kUnknownOutcome,    // The reply of a write was lost: it may have been applied. Read again.
  kDeadlineExceeded,  // Retry a read, if there is still time.
  kTooManyRequests,   // Retry after `retry_after`.
  kConflict,          // Read again and redo the whole reconcile.
  kGone,              // List again.
  kNotFound,          // Often success.
  kAlreadyExists,     // Check who owns it.
  kInvalid,           // Wait for the object to change.
  kForbidden,         // Report it to the administrator; retry slowly.
  kUnauthorized,      // Read the credentials again, then retry once.
  kTooLarge,          // A body is larger than its bound. Report it; do not retry the same request.
};

struct Error {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string message = {};
  std::optional<std::chrono::seconds> retry_after = {};  // Requested by the server. Empty if not.
  // Reason from the server, such as NamespaceTerminating. Empty if none.
  std::string cause = {};

  // A write is done, not done (an error), or unknown. After an unknown one, read the object again
  // before deciding anything.
  bool MayBeDone() const { return code == ErrorCode::kUnknownOutcome; }
};

// A value, or why there is none. The compiler refuses a call whose Result nobody looks at.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result() = default;
  Result(tl::expected<T, Error> other) : tl::expected<T, Error>(std::move(other)) {}
};

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected(Error{.code = code, .message = std::move(message)});
}
inline tl::unexpected<Error> Invalid(std::string message) {
  return Fail(ErrorCode::kInvalid, std::move(message));
}
inline tl::unexpected<Error> Unavailable(std::string message) {
  return Fail(ErrorCode::kUnavailable, std::move(message));
}

// For map_error: adds the attempt to the message, as in "create DaemonSet: 403 forbidden: ...".
inline auto While(std::string attempt) {
  return [attempt = std::move(attempt)](Error error) {
    error.message = attempt + ": " + error.message;
    return error;
  };
}

namespace internal {
// For TRY. What map_error returns is no Result, and without a value there is no operator*.
template <typename T>
T Take(tl::expected<T, Error>&& result) {
  return *std::move(result);
}
inline void Take(tl::expected<void, Error>&& /*result*/) {}
}  // namespace internal
}  // namespace base

// Yields the value of `expression`, or returns its Error from the current function.
#define TRY(expression)                                     \
  __extension__({                                           \
    auto try_result = (expression);                         \
    if (!try_result) [[unlikely]]                           \
      return tl::unexpected(std::move(try_result).error()); \
    base::internal::Take(std::move(try_result));            \
  })
