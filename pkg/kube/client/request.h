// Builds the requests of the Kubernetes API without sending them, and reads their replies.
// Pure functions; thread-safe. Path segments and query values are escaped strictly, so that a name
// from outside cannot leave its place in the path. A request for one object REQUIRES a name, and a
// namespace if the resource is namespaced: without them it would be for the whole collection.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace kube {

struct ListOptions {
  std::string ns = {};  // Empty: all namespaces.
  std::string label_selector = {};
  std::string field_selector = {};
  std::string continue_token = {};
  int limit = 0;                      // 0: no pages.
  std::size_t bytes_max = 64U << 20;  // Of the answer; see PageLimit.
  bool metadata_only = false;         // Answer PartialObjectMetadataList.
};

struct WatchOptions {
  std::string ns = {};
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};
  std::chrono::seconds timeout{
      300};  // After which the server ends the stream; ours is 30 s longer.
};

enum class Propagation { kBackground, kForeground, kOrphan };

// "/api/v1/namespaces/ns/pods/name"; an empty name gives the collection, an empty ns all
// namespaces. The names "." and "..", which no object can have, become another name that no object
// can have.
[[nodiscard]] std::string ResourcePath(const Resource& resource, const ObjectKey& key);

// For the resources of the group and version of `resource`: an APIResourceList.
[[nodiscard]] http::Request ResourceListRequest(const Resource& resource);
[[nodiscard]] http::Request GetRequest(const Resource& resource, const ObjectKey& key);
// resourceVersion unset: most recent, a live read.
[[nodiscard]] http::Request ListRequest(const Resource& resource, const ListOptions& options);
// The body has no bound in whole: who reads the stream bounds each of its frames.
[[nodiscard]] http::Request WatchRequest(const Resource& resource, const WatchOptions& options);
[[nodiscard]] http::Request CreateRequest(const Resource& resource, const std::string& ns,
                                          const json::Value& object);
// PUT: `object` carries the resourceVersion that makes it safe. `subresource` may be empty.
[[nodiscard]] http::Request UpdateRequest(const Resource& resource, const ObjectKey& key,
                                          const json::Value& object,
                                          std::string_view subresource = {});
[[nodiscard]] http::Request MergePatchRequest(const Resource& resource, const ObjectKey& key,
                                              const json::Value& patch,
                                              std::string_view subresource = {});
[[nodiscard]] http::Request JsonPatchRequest(const Resource& resource, const ObjectKey& key,
                                             const json::Value& patch,
                                             std::string_view subresource = {});
// Deletes the object only if it has `uid`; empty: whatever has that name.
[[nodiscard]] http::Request DeleteRequest(const Resource& resource, const ObjectKey& key,
                                          const Uid& uid, Propagation propagation);

// The reply, if its status is 2xx; else an Error whose code says what to do and whose message, of
// at most 2 KiB, is "<status> <reason>: <message>" from the server's Status object, or the
// beginning of whatever else the body is. An Error of the transport passes through.
//
// `method` decides what a 5xx means. With a Retry-After the server refused to begin: kUnavailable.
// Without one a read can be repeated (kUnavailable), but a write may have been done before
// something went wrong behind it: kUnknownOutcome.
[[nodiscard]] base::Result<http::Response> CheckStatus(base::Result<http::Response> reply,
                                                       http::Method method);
// Whether a 404 is the API server's word that there is no object of this name; with an empty one,
// that it does not serve the resource, which it says in plain text. Any proxy in between may send a
// 404 of its own.
[[nodiscard]] bool ProvesAbsence(const base::Error& error, const std::string& name);
// The Error of a Status object, also of a watch's ERROR event; its `code` member counts before
// `http_status`. Something that is not a Status counts as 500 unless `http_status` is an error.
// kGone includes the 504 that says our resourceVersion is in the server's future.
[[nodiscard]] base::Error StatusError(json::View status, int http_status);

// RFC 3986: everything but unreserved characters is percent-encoded.
[[nodiscard]] std::string Escape(std::string_view text);

}  // namespace kube
