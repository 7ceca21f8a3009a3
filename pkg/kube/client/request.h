// Builds requests of the Kubernetes API without sending them, and reads replies.
//
// Pure functions; thread-safe. Path segments and query values are escaped strictly, so that an
// external name cannot change the path. A request for one object REQUIRES a name, and a namespace
// if the resource is namespaced: without them it would address the whole collection.
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
  std::string ns = {};  // Empty for all namespaces.
  std::string label_selector = {};
  std::string field_selector = {};
  std::string continue_token = {};
  int limit = 0;                      // Objects in a page. 0 for no limit.
  std::size_t bytes_max = 64U << 20;  // Of the reply; see PageLimit.
  bool metadata_only = false;         // Asks for a PartialObjectMetadataList.
};

struct WatchOptions {
  std::string ns = {};
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};
  // The server ends the stream after this time. The client waits 30 s longer.
  std::chrono::seconds timeout{300};
};

enum class Propagation { kBackground, kForeground, kOrphan };

// Returns "/api/v1/namespaces/ns/pods/name". An empty name gives the collection, an empty `ns` all
// namespaces. No object can be named "." or "..": these become another name that no object can
// have.
[[nodiscard]] std::string ResourcePath(const Resource& resource, const ObjectKey& key);

// Requests the resources of the group and version of `resource`: an APIResourceList.
[[nodiscard]] http::Request ResourceListRequest(const Resource& resource);
[[nodiscard]] http::Request GetRequest(const Resource& resource, const ObjectKey& key);
// A live read: without a resourceVersion, the server returns the most recent state.
[[nodiscard]] http::Request ListRequest(const Resource& resource, const ListOptions& options);
// The body has no total bound. The reader of the stream must bound each frame.
[[nodiscard]] http::Request WatchRequest(const Resource& resource, const WatchOptions& options);
[[nodiscard]] http::Request CreateRequest(const Resource& resource, const std::string& ns,
                                          const json::Value& object);
// A PUT. `object` carries the resourceVersion that protects other writers' changes. `subresource`
// may be empty.
[[nodiscard]] http::Request UpdateRequest(const Resource& resource, const ObjectKey& key,
                                          const json::Value& object,
                                          std::string_view subresource = {});
[[nodiscard]] http::Request MergePatchRequest(const Resource& resource, const ObjectKey& key,
                                              const json::Value& patch,
                                              std::string_view subresource = {});
[[nodiscard]] http::Request JsonPatchRequest(const Resource& resource, const ObjectKey& key,
                                             const json::Value& patch,
                                             std::string_view subresource = {});
// Deletes the object only if it has `uid`. If `uid` is empty, deletes any object of that name.
[[nodiscard]] http::Request DeleteRequest(const Resource& resource, const ObjectKey& key,
                                          const Uid& uid, Propagation propagation);

// Returns the reply if its status is 2xx, otherwise an Error. Its code says what to do. Its message
// has at most 2 KiB: "<status> <reason>: <message>" from the server's Status object, or the start
// of any other body. Errors of the transport are returned unchanged.
//
// A 5xx with a Retry-After means that the server did not start: kUnavailable. Without a
// Retry-After, `method` decides. A read can be repeated: kUnavailable. A write may have been done
// before the failure: kUnknownOutcome.
[[nodiscard]] base::Result<http::Response> CheckStatus(base::Result<http::Response> reply,
                                                       http::Method method);
// Returns whether a 404 proves that no object has this name, because the API server itself sent it.
// A proxy in between may send its own 404. If `name` is empty: whether the API server does not
// serve the resource, which it reports in plain text.
[[nodiscard]] bool ProvesAbsence(const base::Error& error, const std::string& name);
// Returns the Error of a Status object, also from a watch's ERROR event. Its `code` field wins over
// `http_status`. A value that is not a Status counts as 500, unless `http_status` is an error.
// kGone includes the 504 for a resourceVersion that is in the server's future.
[[nodiscard]] base::Error StatusError(json::View status, int http_status);

// Percent-encodes everything but the unreserved characters of RFC 3986.
[[nodiscard]] std::string Escape(std::string_view text);

}  // namespace kube
