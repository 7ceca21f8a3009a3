// Questions about one GPU or MIG instance. Only for node/nvml.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "node/nvml/functions.h"

namespace nvml {

// After the first failure it asks nothing more: each answer of a lost GPU may take long.
class Questions {
 public:
  // `functions` outlives this object.
  explicit Questions(const Library::Functions& functions) : functions_(functions) {}

  // Asks `function`, and returns whether NVML answered. If not, this is the error.
  template <typename... Parameters, typename... Arguments>
  bool Ask(const char* what, int (*function)(Parameters...), Arguments... arguments) {
    if (error_) return false;
    const int code = function != nullptr ? function(arguments...) : abi::kNoSuchFunction;
    if (code != abi::kSuccess) SetError(code, what);
    return !error_;
  }

  // Asks for what not every driver or GPU has. If NVML says that there is none, returns false, and
  // this is no error.
  template <typename... Parameters, typename... Arguments>
  bool AskIfAny(const char* what, int (*function)(Parameters...), Arguments... arguments) {
    if (error_ || function == nullptr) return false;
    const int code = function(arguments...);
    const bool has_none = code == abi::kNotSupported || code == abi::kNoSuchFunction ||
                          code == abi::kNotFound || code == abi::kInvalidArgument ||
                          code == abi::kVersionMismatch;
    if (code != abi::kSuccess && !has_none) SetError(code, what);
    return code == abi::kSuccess;
  }

  // An answer cannot be right, as `message` says. The first error stays.
  void Fail(std::string message) {
    if (!error_) error_ = DeviceError{.message = std::move(message)};
  }
  void Fail(DeviceError error) {
    if (!error_) error_ = std::move(error);
  }

  const std::optional<DeviceError>& error() const { return error_; }

 private:
  void SetError(int code, const char* what) {
    error_ = DeviceError{.code = code,
                         .message = std::string(what) + ": NVML says " + functions_.TextOf(code)};
  }

  const Library::Functions& functions_;
  std::optional<DeviceError> error_ = {};
};

}  // namespace nvml
