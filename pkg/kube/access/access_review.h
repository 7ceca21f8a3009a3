// Asks the API server whether a bearer token may read a path.
//
// For one thread, which it blocks for at most 4 s.
// Bounds: verdicts of 64 tokens, each kept for 10 s under the token's SHA-256; tokens of 8 KiB;
// replies of 64 KiB. Failed reviews are not kept. If the cache is full, a verdict that refused a
// token is dropped before one that allowed it.
#pragma once

#include <map>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace kube {

enum class Access {
  kAllowed,
  kNotAuthenticated,  // The API server does not know the token.
  kForbidden,         // The user of the token may not read the path.
};

struct AccessVerdict {
  Access access = Access::kNotAuthenticated;
  std::string user = {};  // Empty if not authenticated.
};

class AccessReviews {
 public:
  // `path` is a non-resource URL path, such as "/metrics". `transport` and `clock` outlive this
  // object.
  AccessReviews(std::string path, http::Transport& transport, const base::Clock& clock);

  // Sends a TokenReview, and a SubjectAccessReview for the verb `get` on the path. Returns an Error
  // if the API server did not answer; the token is then neither allowed nor refused.
  base::Result<AccessVerdict> Check(const std::string& token);

 private:
  struct Kept {
    AccessVerdict verdict = {};
    base::Clock::TimePoint until = {};
  };

  base::Result<AccessVerdict> ReviewToken(const std::string& token);
  void Keep(const std::string& digest, const AccessVerdict& verdict);

  const std::string path_;
  http::Transport& transport_;
  const base::Clock& clock_;
  std::map<std::string, Kept> kept_;  // By the digest of the token.
};

}  // namespace kube
