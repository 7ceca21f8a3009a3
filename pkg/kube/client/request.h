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
std::string ResourcePath(const Resource& resource, const ObjectKey& key);

// Requests the resources of the group and version of `resource`: an APIResourceList.
http::Request ResourceListRequest(const Resource& resource);
// Requests all API groups and their versions, without the core group: an APIGroupList.
http::Request GroupListRequest();
http::Request GetRequest(const Resource& resource, const ObjectKey& key);
// A live read: without a resourceVersion, the server returns the most recent state.
http::Request ListRequest(const Resource& resource, const ListOptions& options);
// The body has no total bound. The reader of the stream must bound each frame.
http::Request WatchRequest(const Resource& resource, const WatchOptions& options);
http::Request CreateRequest(const Resource& resource, const std::string& ns,
                            const json::Value& object);
// A PUT. `object` carries the resourceVersion that protects other writers' changes. `subresource`
// may be empty.
http::Request UpdateRequest(const Resource& resource, const ObjectKey& key,
                            const json::Value& object, std::string_view subresource = {});
http::Request MergePatchRequest(const Resource& resource, const ObjectKey& key,
                                const json::Value& patch, std::string_view subresource = {});
http::Request JsonPatchRequest(const Resource& resource, const ObjectKey& key,
                               const json::Value& patch, std::string_view subresource = {});
// Deletes the object only if it has `uid`. If `uid` is empty, deletes any object of that name.
http::Request DeleteRequest(const Resource& resource, const ObjectKey& key, const Uid& uid,
                            Propagation propagation);

// `cause` of the error if a 4xx did not come from the API server, but from a proxy in between.
inline constexpr std::string_view kNotFromApiServer = "NotFromApiServer";

// Returns the reply if its status is 2xx, otherwise an Error. Its code says what to do. Its message
// has at most 2 KiB: "<status> <reason>: <message>" from the server's Status object, or the start
// of any other body. Errors of the transport are returned unchanged.
//
// Decides how a write ended, for every verb:
// - Done: 2xx. A 404 for which ProvesAbsence() holds means that there is nothing left to change.
// - Not done: 3xx, 429, any other 4xx with a Status.
// - Unknown (kUnknownOutcome): every 5xx, even with a Status or a Retry-After, and a 4xx without a
//   Status, because a proxy may send it after the API server has acted.
// A 409 to a DELETE with a UID is kConflict. Read the object: it may be deleted, or have another
// UID.
//
// A read can be repeated, so its 5xx is kUnavailable. Its 404 without a Status is kUnavailable,
// unless it is the API server's text for a path that it does not serve.
base::Result<http::Response> CheckStatus(base::Result<http::Response> reply, http::Method method);
// Returns whether a 404 proves that `resource` has no object of this name, because its Status names
// both. A proxy in between may send its own 404.
bool ProvesAbsence(const base::Error& error, const Resource& resource, const std::string& name);
// Returns the Error of a Status object, also from a watch's ERROR event. Its `code` field wins over
// `http_status`. A value that is not a Status counts as 500, unless `http_status` is an error.
// kGone includes the 504 for a resourceVersion that is in the server's future.
base::Error StatusError(json::View status, int http_status);

// Percent-encodes everything but the unreserved characters of RFC 3986.
std::string Escape(std::string_view text);

}  // namespace kube
