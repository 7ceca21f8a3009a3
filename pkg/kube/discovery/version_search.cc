#include "pkg/kube/discovery/version_search.h"

#include <utility>

#include "pkg/base/check.h"
#include "pkg/json/reader.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using base::Result;

constexpr std::size_t kListBytesMax = 1U << 20;  // That of the core group has 13 KB.

// Returns whether a resource list names `plural`. kUnavailable if a proxy wrote something else.
Result<bool> Lists(std::string_view body, std::string_view plural) {
  const Result<json::Document> list = json::Document::Parse(body);
  if (!list || (*list)["kind"].AsString() != "APIResourceList") {
    return base::Unavailable("the answer is not an APIResourceList");
  }
  bool found = false;
  (*list)["resources"].ForEach(
      [&](json::View entry) { found = found || entry["name"].AsString() == plural; });
  return found;
}

std::string Join(const std::vector<std::string>& versions) {
  std::string text;
  for (const std::string& version : versions) text += (text.empty() ? "" : ", ") + version;
  return text;
}

}  // namespace

VersionSearch::VersionSearch(Resource resource, std::vector<std::string> versions)
    : resource_(std::move(resource)), versions_(std::move(versions)) {
  CHECK(!versions_.empty());
}

Resource VersionSearch::Candidate() const {
  Resource candidate = resource_;
  candidate.version = versions_[asked_];
  return candidate;
}

http::Request VersionSearch::Next() const {
  http::Request request = ResourceListRequest(Candidate());
  request.response_bytes_max = kListBytesMax;
  return request;
}

Result<std::optional<Resource>> VersionSearch::OnReply(const Result<http::Response>& reply) {
  const bool has_version = reply || reply.error().code != base::ErrorCode::kNotFound;
  if (has_version) {
    if (!reply) return tl::unexpected(reply.error());
    if (TRY(Lists(reply->body, resource_.plural))) {
      std::optional<Resource> found = Candidate();
      asked_ = 0;
      return found;
    }
  }
  if (++asked_ < versions_.size()) return std::optional<Resource>();
  asked_ = 0;
  return base::Fail(base::ErrorCode::kNotFound,
                    resource_.QualifiedName() + " is served in none of " + Join(versions_));
}

}  // namespace kube
