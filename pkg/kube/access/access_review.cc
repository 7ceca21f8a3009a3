#include "pkg/kube/access/access_review.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"

namespace kube {
namespace {

using json::Value;

constexpr std::size_t kKeptMax = 64;
constexpr std::chrono::seconds kKeptFor{10};
constexpr std::size_t kTokenBytesMax = 8U << 10;
constexpr std::size_t kAnswerBytesMax = 64U << 10;
constexpr std::chrono::seconds kReviewMax{2};  // Each answer needs two.

const Resource kTokenReviews = {"authentication.k8s.io", "v1", "tokenreviews", "TokenReview",
                                false};
const Resource kAccessReviews = {"authorization.k8s.io", "v1", "subjectaccessreviews",
                                 "SubjectAccessReview", false};

std::string DigestOf(const std::string& token) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes = {};
  unsigned size = 0;
  CHECK(EVP_Digest(token.data(), token.size(), bytes.data(), &size, EVP_sha256(), nullptr) == 1);
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

// Returns whether a header and JSON can carry it. Otherwise the review would be of another token.
bool IsToken(const std::string& token) {
  return !token.empty() && token.size() <= kTokenBytesMax &&
         std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
}

// Returns the `status` of the review that the API server answers with.
base::Result<Value> Review(http::Transport& transport, const Resource& resource, Value spec) {
  http::Request request = CreateRequest(resource, "",
                                        Value::Object({{"apiVersion", resource.ApiVersion()},
                                                       {"kind", resource.kind},
                                                       {"spec", std::move(spec)}}));
  request.timeout = kReviewMax;
  request.response_bytes_max = kAnswerBytesMax;
  const std::string attempt = "create " + resource.kind;
  const http::Response reply =
      TRY(CheckStatus(transport.Send(request), request.method).map_error(base::While(attempt)));
  Value answer = TRY(json::Parse(reply.body).map_error(base::While(attempt)));
  const Value* status = answer.Find("status");
  if (status == nullptr || !status->IsObject()) {
    return base::Unavailable(attempt + ": the answer has no status");
  }
  return *status;
}

// Returns a part of a SubjectAccessReview's spec, with everything known about the user.
Value Subject(const Value& user, const std::string& path) {
  Value spec =
      Value::Object({{"user", user["username"]},
                     {"nonResourceAttributes", Value::Object({{"path", path}, {"verb", "get"}})}});
  for (const char* name : {"uid", "groups", "extra"}) {
    if (const Value* known = user.Find(name)) spec[name] = *known;
  }
  return spec;
}

}  // namespace

AccessReviews::AccessReviews(std::string path, http::Transport& transport, const base::Clock& clock)
    : path_(std::move(path)), transport_(transport), clock_(clock) {}

base::Result<AccessVerdict> AccessReviews::Check(const std::string& token) {
  if (!IsToken(token)) return AccessVerdict();
  const std::string digest = DigestOf(token);
  const auto kept = kept_.find(digest);
  if (kept != kept_.end() && clock_.Now() < kept->second.until) return kept->second.verdict;
  AccessVerdict verdict = TRY(ReviewToken(token));
  Keep(digest, verdict);
  return verdict;
}

base::Result<AccessVerdict> AccessReviews::ReviewToken(const std::string& token) {
  const Value who = TRY(Review(transport_, kTokenReviews, Value::Object({{"token", token}})));
  const std::string& user = who["user"]["username"].AsString();
  if (!who["authenticated"].AsBool() || user.empty()) return AccessVerdict();
  const Value may = TRY(Review(transport_, kAccessReviews, Subject(who["user"], path_)));
  const bool is_allowed = may["allowed"].AsBool() && !may["denied"].AsBool();
  return AccessVerdict{.access = is_allowed ? Access::kAllowed : Access::kForbidden, .user = user};
}

void AccessReviews::Keep(const std::string& digest, const AccessVerdict& verdict) {
  const base::Clock::TimePoint now = clock_.Now();
  std::erase_if(kept_, [now](const auto& one) { return one.second.until <= now; });
  kept_.erase(digest);
  if (kept_.size() >= kKeptMax) {
    const auto order = [](const auto& one) {
      return std::pair(one.second.verdict.access == Access::kAllowed, one.second.until);
    };
    kept_.erase(std::ranges::min_element(kept_, {}, order));
  }
  kept_[digest] = {.verdict = verdict, .until = now + kKeptFor};
}

}  // namespace kube
