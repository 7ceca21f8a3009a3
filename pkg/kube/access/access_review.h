// Asks the API server who a bearer token is, and whether that user may read a path.
//
// For one thread, which it blocks for at most 4 s. Bounds: the answers of 64 tokens, each known by
// its SHA-256 and for 10 s; tokens of 8 KiB; 64 KiB for an answer of the API server. An answer that
// is a failure is not kept. A refused token gives way to another before one that is allowed does.
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
  kForbidden,         // It is the token of a user who may not read the path.
};

struct AccessVerdict {
  Access access = Access::kNotAuthenticated;
  std::string user = {};  // Empty if it is not authenticated.
};

class AccessReviews {
 public:
  // `path` is that of a URL which is no resource, as "/metrics". `transport` and `clock` outlive
  // this.
  AccessReviews(std::string path, http::Transport& transport, const base::Clock& clock);

  // By a TokenReview, and a SubjectAccessReview for the verb `get` of the path. An Error says what
  // the API server did not answer; nothing is known of the token then.
  [[nodiscard]] base::Result<AccessVerdict> Check(const std::string& token);

 private:
  struct Kept {
    AccessVerdict verdict = {};
    base::Clock::TimePoint until = {};
  };

  [[nodiscard]] base::Result<AccessVerdict> ReviewToken(const std::string& token);
  void Keep(const std::string& digest, const AccessVerdict& verdict);

  const std::string path_;
  http::Transport& transport_;
  const base::Clock& clock_;
  std::map<std::string, Kept> kept_;  // By the digest of a token.
};

}  // namespace kube
