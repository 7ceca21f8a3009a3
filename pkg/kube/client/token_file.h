// A bearer token in a file that the kubelet, or another process, replaces.
//
// Thread-safe. Each read opens the file by its path, because a mounted token is a symbolic link
// that changes. The file is read again after a minute, and after Invalidate(). If a read fails, or
// finds no token, the last good token stays in use.
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

// Returns the token without surrounding white space. Returns kInvalid if there is none, or if an
// HTTP header cannot hold it. The message does not contain the token.
base::Result<std::string> CheckToken(std::string_view text);

base::Result<std::string> ReadTokenFile(const std::string& path);

class TokenFile final : public http::Credentials {
 public:
  // `token` is the result of a ReadTokenFile() just before. `clock` outlives this object.
  TokenFile(std::string path, std::string token, const base::Clock& clock);

  std::string BearerToken() override;
  void Invalidate() override;
  std::string Source() const override { return "file " + path_; }

 private:
  struct State {
    std::string token = {};
    base::Clock::TimePoint read_at = {};
    std::uint64_t invalidations = 0;
    std::uint64_t invalidations_served = 0;  // Value of `invalidations` when the token was read.
  };

  const std::string path_;
  const base::Clock& clock_;
  base::Guarded<State> state_;
};

}  // namespace kube
