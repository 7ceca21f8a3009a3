#include "pkg/kube/client/request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "pkg/base/check.h"

namespace kube {

namespace {

using base::ErrorCode;
using std::chrono::seconds;

constexpr seconds kListTimeout{60};
constexpr seconds kWatchGrace{30};  // Added to the timeout that is requested from the server.
constexpr std::size_t kCauseMax = 64;
constexpr std::size_t kNameMax = 253;      // Of an object.
constexpr std::size_t kMessageMax = 2048;  // client-go keeps as much of an error's body.
constexpr std::size_t kStatusBodyMax = 1U
                                       << 20;  // A Status is small; do not parse anything larger.
constexpr seconds kRetryAfterMax{120};         // A proxy may ask for any time, even a year.

// Builds "?a=b&c=d".
class Query {
 public:
  void Add(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? '?' : '&';
    text_ += name;
    text_ += '=';
    text_ += Escape(value);
  }
  void AddUnlessEmpty(std::string_view name, std::string_view value) {
    if (!value.empty()) Add(name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Escapes one segment of a path. Libraries and proxies resolve "." and "..", also as "%2E". Then
// DELETE of an object ".." would become DELETE of its collection.
std::string Segment(std::string_view text) {
  return Escape(text == "." || text == ".." ? Escape("%") + std::string(text) : text);
}

std::string VersionPath(const Resource& resource) {
  const std::string group =
      resource.group.empty() ? "/api/" : "/apis/" + Segment(resource.group) + "/";
  return group + Segment(resource.version);
}

std::string ObjectPath(const Resource& resource, const ObjectKey& key,
                       std::string_view subresource) {
  CHECK(!key.name.empty());
  CHECK(!resource.namespaced || !key.ns.empty());
  std::string path = ResourcePath(resource, key);
  if (!subresource.empty()) path += "/" + Segment(subresource);
  return path;
}

http::Request BodyRequest(http::Method method, std::string path, std::string_view content_type,
                          const json::Value& body) {
  return {.method = method,
          .path = std::move(path),
          .content_type = std::string(content_type),
          .body = json::Serialize(body)};
}

bool HasCause(json::View status, std::string_view reason) {
  bool found = false;
  status["details"]["causes"].ForEach(
      [&](json::View cause) { found = found || cause["reason"].AsString() == reason; });
  return found;
}

// The API server answers like this for a path that it does not serve, such as that of a deleted
// CRD.
constexpr std::string_view kNotServed = "404 page not found";

// Returns the `cause` of a 404 for an object that the API server does not have.
std::string Absent(std::string_view plural, std::string_view name) {
  return "NotFound " + std::string(plural) + " " + std::string(name);
}

ErrorCode CodeOf(int status, json::View body) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthorized;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return body["reason"].AsString() == "AlreadyExists" ? ErrorCode::kAlreadyExists
                                                          : ErrorCode::kConflict;
    case 408:
      return ErrorCode::kUnavailable;  // The server did not receive the whole request.
    case 410:
      return ErrorCode::kGone;
    case 413:
      return ErrorCode::kTooLarge;
    case 429:
      return ErrorCode::kTooManyRequests;
    case 504:
      return HasCause(body, "ResourceVersionTooLarge") ? ErrorCode::kGone : ErrorCode::kUnavailable;
    default:
      return status >= 400 && status < 500 ? ErrorCode::kInvalid : ErrorCode::kUnavailable;
  }
}

std::string Message(int status, std::string_view reason, std::string_view message) {
  std::string text = std::to_string(status);
  if (!reason.empty()) text.append(" ").append(reason);
  if (!message.empty()) text.append(": ").append(message.substr(0, kMessageMax));
  return json::OneLine(text, kMessageMax);
}

// Describes a body that is not a Status, because a proxy or a load balancer wrote it.
std::string_view Describe(std::string_view body) {
  const std::size_t start = body.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return "no explanation";
  if (body[start] == '<') return "the answer is a page of HTML, perhaps from a proxy in between";
  return body.substr(start);
}

// Returns the error that the API server's Status describes. Empty if the body is not a Status.
std::optional<base::Error> StatusIn(const http::Response& reply) {
  if (reply.body.size() > kStatusBodyMax) return {};
  const auto body = json::Document::Parse(reply.body);
  if (!body || (*body)["kind"].AsString() != "Status") return {};
  return StatusError(*body, reply.status);
}

bool IsClientError(int status) { return status >= 400 && status < 500; }

base::Error PageError(const http::Response& reply, bool is_read) {
  base::Error error = {.code = CodeOf(reply.status, json::View()),
                       .message = Message(reply.status, {}, Describe(reply.body))};
  const bool is_not_served = reply.status == 404 && reply.body.text().starts_with(kNotServed);
  if (IsClientError(reply.status) && !is_not_served) error.cause = kNotFromApiServer;
  if (is_read && reply.status == 404 && !is_not_served) error.code = ErrorCode::kUnavailable;
  return error;
}

// Returns whether a write with this reply changed nothing. `has_status`: the API server wrote it.
bool WasNotDone(int status, bool has_status) {
  return (status >= 300 && status < 400) || status == 429 || (IsClientError(status) && has_status);
}

}  // namespace

std::string Escape(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += '%';
    escaped += kHex[byte >> 4U];
    escaped += kHex[byte & 15U];
  }
  return escaped;
}

std::string ResourcePath(const Resource& resource, const ObjectKey& key) {
  std::string path = VersionPath(resource);
  if (resource.namespaced && !key.ns.empty()) path += "/namespaces/" + Segment(key.ns);
  path += "/" + Segment(resource.plural);
  if (!key.name.empty()) path += "/" + Segment(key.name);
  return path;
}

http::Request ResourceListRequest(const Resource& resource) {
  return {.path = VersionPath(resource)};
}

http::Request GroupListRequest() { return {.path = "/apis"}; }

http::Request GetRequest(const Resource& resource, const ObjectKey& key) {
  return {.path = ObjectPath(resource, key, {})};
}

http::Request ListRequest(const Resource& resource, const ListOptions& options) {
  // No resourceVersion: unset means most recent. The server refuses it together with `continue`.
  Query query;
  query.AddUnlessEmpty("labelSelector", options.label_selector);
  query.AddUnlessEmpty("fieldSelector", options.field_selector);
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  query.AddUnlessEmpty("continue", options.continue_token);
  http::Request request = {.path = ResourcePath(resource, {.ns = options.ns}) + query.text(),
                           .timeout = kListTimeout,
                           .response_bytes_max = options.bytes_max};
  if (options.metadata_only) {
    request.accept =
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
  }
  return request;
}

http::Request WatchRequest(const Resource& resource, const WatchOptions& options) {
  Query query;
  query.Add("watch", "1");
  query.AddUnlessEmpty("labelSelector", options.label_selector);
  query.AddUnlessEmpty("fieldSelector", options.field_selector);
  query.Add("resourceVersion", options.resource_version);
  query.Add("allowWatchBookmarks", "true");
  query.Add("timeoutSeconds", std::to_string(options.timeout.count()));
  return {.path = ResourcePath(resource, {.ns = options.ns}) + query.text(),
          .timeout = options.timeout + kWatchGrace,
          .response_bytes_max = std::numeric_limits<std::size_t>::max()};
}

http::Request CreateRequest(const Resource& resource, const std::string& ns,
                            const json::Value& object) {
  CHECK(!resource.namespaced || !ns.empty());
  return BodyRequest(http::Method::kPost, ResourcePath(resource, {.ns = ns}), "application/json",
                     object);
}

http::Request UpdateRequest(const Resource& resource, const ObjectKey& key,
                            const json::Value& object, std::string_view subresource) {
  return BodyRequest(http::Method::kPut, ObjectPath(resource, key, subresource), "application/json",
                     object);
}

http::Request MergePatchRequest(const Resource& resource, const ObjectKey& key,
                                const json::Value& patch, std::string_view subresource) {
  return BodyRequest(http::Method::kPatch, ObjectPath(resource, key, subresource),
                     "application/merge-patch+json", patch);
}

http::Request JsonPatchRequest(const Resource& resource, const ObjectKey& key,
                               const json::Value& patch, std::string_view subresource) {
  return BodyRequest(http::Method::kPatch, ObjectPath(resource, key, subresource),
                     "application/json-patch+json", patch);
}

http::Request DeleteRequest(const Resource& resource, const ObjectKey& key, const Uid& uid,
                            Propagation propagation) {
  constexpr std::array<const char*, 3> kPolicies = {"Background", "Foreground", "Orphan"};
  const char* const policy = kPolicies.at(static_cast<std::size_t>(propagation));
  json::Value options = json::Value::Object(
      {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"propagationPolicy", policy}});
  if (!uid.empty()) options["preconditions"]["uid"] = uid;
  return BodyRequest(http::Method::kDelete, ObjectPath(resource, key, {}), "application/json",
                     options);
}

base::Result<http::Response> CheckStatus(base::Result<http::Response> reply, http::Method method) {
  if (!reply || (reply->status >= 200 && reply->status < 300)) return reply;
  const bool is_read = method == http::Method::kGet;
  const std::optional<base::Error> status = StatusIn(*reply);
  base::Error error = status ? *status : PageError(*reply, is_read);
  if (!error.retry_after) error.retry_after = reply->retry_after;
  if (error.retry_after)
    error.retry_after = std::clamp(*error.retry_after, seconds(0), kRetryAfterMax);
  if (!is_read && !WasNotDone(reply->status, status.has_value())) {
    error.code = ErrorCode::kUnknownOutcome;
  }
  return tl::unexpected(std::move(error));
}

base::Error StatusError(json::View status, int http_status) {
  const bool is_status = status["kind"].AsString() == "Status";
  const auto is_error = [](std::int64_t code) { return code >= 400 && code < 600; };
  std::int64_t code = is_status ? status["code"].AsInt().value_or(0) : 0;
  if (!is_error(code)) code = is_error(http_status) ? http_status : 500;

  base::Error error = {.code = CodeOf(static_cast<int>(code), status),
                       .message = Message(static_cast<int>(code), status["reason"].AsString(),
                                          is_status ? status["message"].AsString()
                                                    : "the answer is not a Status object")};
  if (const auto wait = status["details"]["retryAfterSeconds"].AsInt(); wait && *wait > 0) {
    error.retry_after = std::clamp(seconds(*wait), seconds(0), kRetryAfterMax);
  }
  status["details"]["causes"].ForEach([&](json::View cause) {
    if (error.cause.empty()) error.cause = json::OneLine(cause["reason"].AsString(), kCauseMax);
  });
  if (error.code == ErrorCode::kNotFound && status["reason"].AsString() == "NotFound") {
    error.cause = Absent(json::OneLine(status["details"]["kind"].AsString(), kNameMax),
                         json::OneLine(status["details"]["name"].AsString(), kNameMax));
  }
  return error;
}

bool ProvesAbsence(const base::Error& error, const Resource& resource, const std::string& name) {
  return error.code == ErrorCode::kNotFound && !name.empty() &&
         error.cause == Absent(resource.plural, name);
}

}  // namespace kube
