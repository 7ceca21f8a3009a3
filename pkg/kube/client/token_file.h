// A bearer token in a file that somebody replaces from time to time, such as the kubelet for a pod.
//
// Thread-safe. The file is opened by its path each time it is read: a mounted token is a symbolic
// link that is swapped. Read again when a minute has passed, or after Invalidate(); if it cannot be
// read or holds no token, the last good one stays.
// Source: client-go, transport/token_source.go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"

namespace kube {

// The token without the blanks around it. kInvalid if there is none, or if it could not stand in a
// header; the message does not repeat it.
[[nodiscard]] base::Result<std::string> CheckToken(std::string_view text);

[[nodiscard]] base::Result<std::string> ReadTokenFile(const std::string& path);

class TokenFile final : public http::Credentials {
 public:
  // `token` is what ReadTokenFile() gave just now. `clock` outlives it.
  TokenFile(std::string path, std::string token, const base::Clock& clock);

  std::string BearerToken() override;
  void Invalidate() override;
  [[nodiscard]] std::string Source() const override { return "file " + path_; }

 private:
  struct State {
    std::string token = {};
    base::Clock::TimePoint read_at = {};
    std::uint64_t invalidations = 0;
    std::uint64_t invalidations_served = 0;  // How many had been when the token was read.
  };

  const std::string path_;
  const base::Clock& clock_;
  base::Guarded<State> state_;
};

}  // namespace kube
