#include "pkg/kube/discovery/version_search.h"

#include <utility>

#include "pkg/base/check.h"
#include "pkg/json/reader.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using base::Result;

constexpr std::size_t kListBytesMax = 1U << 20;  // That of the core group has 13 KB.

// Returns the reply of discovery. kUnavailable if a proxy wrote something else.
Result<json::Document> Parse(std::string_view body, const std::string& kind) {
  Result<json::Document> list = json::Document::Parse(body);
  const bool is_it = list && (*list)["kind"].AsString() == kind;
  if (!is_it) return base::Unavailable("the answer is not an " + kind);
  return list;
}

std::string Join(const std::vector<std::string>& versions) {
  std::string text;
  for (const std::string& version : versions) text += (text.empty() ? "" : ", ") + version;
  return text;
}

}  // namespace

Result<bool> ListsResource(std::string_view body, std::string_view plural) {
  const json::Document list = TRY(Parse(body, "APIResourceList"));
  bool found = false;
  list["resources"].ForEach(
      [&](json::View entry) { found = found || entry["name"].AsString() == plural; });
  return found;
}

Result<bool> ListsVersion(std::string_view body, const Resource& resource) {
  const json::Document list = TRY(Parse(body, "APIGroupList"));
  bool found = false;
  list["groups"].ForEach([&](json::View group) {
    group["versions"].ForEach([&](json::View version) {
      found = found || version["groupVersion"].AsString() == resource.ApiVersion();
    });
  });
  return found;
}

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
    if (TRY(ListsResource(reply->body, resource_.plural))) {
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
