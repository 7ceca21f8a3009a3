#include "test/simulation/apiserver/api_server.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "pkg/base/number.h"

namespace simulation {

namespace {

using json::Value;

http::Response ToResponse(const Reply& reply) {
  http::Response response = {.status = reply.code};
  const bool shows_object = reply.ok() && reply.status.IsNull() && reply.object != nullptr;
  response.body = shows_object ? reply.object->text() : json::Serialize(reply.status);
  if (reply.code == 429 || reply.code == 504) response.retry_after = std::chrono::seconds(1);
  return response;
}

// A version in a query. Empty and "0" are 0; nothing if it is no number.
std::optional<Revision> ParseRevision(const std::string& text) {
  return text.empty() ? std::optional<Revision>(0) : base::ParseNumber<Revision>(text);
}

bool WantsMetadata(const http::Request& request, std::string_view kind) {
  return request.accept.find("as=" + std::string(kind) + ";g=meta.k8s.io;v=v1") !=
         std::string::npos;
}

std::string MetadataOnly(const Object& object) {
  return "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":" +
         json::Serialize(object.meta()) + "}";
}

// An item of a list: built-in kinds leave out what the list itself says.
std::string ItemText(const KindInfo& kind, const Object& object) {
  if (kind.custom) return object.text();
  const std::string said = "{\"apiVersion\":\"" + kind.resource.ApiVersion() + "\",\"kind\":\"" +
                           kind.resource.kind + "\",";
  return object.text().starts_with(said) ? "{" + object.text().substr(said.size()) : object.text();
}

Reply BadRequest(const std::string& message) { return Failed(400, "BadRequest", message); }

Reply TooNew(Revision asked, Revision view) {
  Reply reply = Failed(504, "Timeout",
                       "Too large resource version: " + std::to_string(asked) +
                           ", current: " + std::to_string(view));
  reply.status["details"] = Value::Object(
      {{"causes", Value::Array({Value::Object({{"reason", "ResourceVersionTooLarge"},
                                               {"message", "Too large resource version"}})})},
       {"retryAfterSeconds", 1}});
  return reply;
}

// Where a list goes on: the revision that it is of, and the last object that was sent.
struct Continuation {
  Revision revision = 0;
  kube::ObjectKey last = {};
};

std::string Encode(const Continuation& from) {
  return std::to_string(from.revision) + ":" + from.last.ns + "/" + from.last.name;
}

std::optional<Continuation> DecodeContinuation(const std::string& token) {
  const std::size_t colon = token.find(':');
  const std::size_t slash = token.find('/');
  if (colon == std::string::npos || slash == std::string::npos || slash < colon)
    return std::nullopt;
  const auto revision = ParseRevision(token.substr(0, colon));
  if (!revision) return std::nullopt;
  return Continuation{
      .revision = *revision,
      .last = {.ns = token.substr(colon + 1, slash - colon - 1), .name = token.substr(slash + 1)}};
}

struct Page {
  std::string items = {};
  std::string continue_token = {};
  std::size_t remaining = 0;
};

Page MakePage(const Objects& objects, const Target& target, const Selector& selector,
              const Continuation& from, std::size_t limit, bool metadata_only) {
  Page page;
  std::size_t count = 0;
  kube::ObjectKey last;
  for (auto it = objects.upper_bound(from.last); it != objects.end(); ++it) {
    const auto& [key, object] = *it;
    const bool selected =
        (target.key.ns.empty() || key.ns == target.key.ns) && selector.Matches(*object);
    if (!selected) continue;
    if (limit > 0 && count == limit) {
      ++page.remaining;
      continue;
    }
    if (count++ > 0) page.items += ',';
    page.items += metadata_only ? MetadataOnly(*object) : ItemText(*target.kind, *object);
    last = key;
  }
  if (page.remaining > 0) {
    page.continue_token = Encode({.revision = from.revision, .last = last});
  }
  return page;
}

DeleteOptions ParseDeleteOptions(const Value& body) {
  DeleteOptions options = {.uid = body["preconditions"]["uid"].AsString(),
                           .resource_version = body["preconditions"]["resourceVersion"].AsString(),
                           .grace = body["gracePeriodSeconds"].AsInt(),
                           .propagation = body["propagationPolicy"].AsString()};
  return options;
}

bool IsAccessReview(const Target& target) {
  return target.verb == "create" && !target.segments.empty() &&
         target.segments.back() == "selfsubjectaccessreviews" && target.segments.front() == "apis";
}

// Of a path that is not served: plain text, without a Status.
http::Response NotServed() { return {.status = 404, .body = "404 page not found\n"}; }

// As the authorizer says it.
Reply MissingPermission(const Target& target) {
  return Failed(403, "Forbidden",
                "User \"controller\" cannot " + target.verb + " resource \"" +
                    target.kind->resource.plural + "\" in API group \"" +
                    target.kind->resource.group + "\"");
}

}  // namespace

std::string RequestRecord::ToString() const {
  std::string text = target.verb + " ";
  if (target.kind == nullptr) {
    for (const std::string& segment : target.segments) text += "/" + segment;
    return text;
  }
  text += target.kind->resource.QualifiedName();
  if (!target.subresource.empty()) text += "/" + target.subresource;
  if (!target.key.ns.empty() || !target.key.name.empty()) text += " " + kube::ToString(target.key);
  return text;
}

http::Response ApiServer::Handle(const std::string& client, const http::Request& request,
                                 Revision view) {
  Target target = ParseTarget(request.method, request.path);
  http::Response response = Answer(client, request, target, view);
  Record(client, request, std::move(target), response, view);
  return response;
}

WatchStream ApiServer::OpenWatch(const std::string& client, const http::Request& request,
                                 Revision view) {
  Target target = ParseTarget(request.method, request.path);
  const bool is_refused = refuses_ && refuses_(client, target);
  WatchStream stream = is_refused ? WatchStream(ToResponse(MissingPermission(target)))
                                  : Open(target, std::min(view, store_.revision()));
  Record(client, request, std::move(target), stream.opening(), view);
  return stream;
}

void ApiServer::Record(const std::string& client, const http::Request& request, Target target,
                       const http::Response& answer, Revision view) {
  requests_.push_back({.client = client,
                       .target = std::move(target),
                       .body = request.body,
                       .status = answer.status,
                       .refusal = answer.status < 400 ? "" : answer.body.text(),
                       .revision = store_.revision(),
                       .view = std::min(view, store_.revision()),
                       .time = store_.now()});
}

http::Response ApiServer::Answer(const std::string& client, const http::Request& request,
                                 const Target& target, Revision view) {
  if (target.kind == nullptr) {
    if (IsAccessReview(target)) {
      return {.status = 201,
              .body = R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",)"
                      R"("status":{"allowed":true}})"};
    }
    return Discover(target);
  }
  if (refuses_ && refuses_(client, target)) return ToResponse(MissingPermission(target));
  const bool is_served = store_.IsServed(target.kind->kind);
  if (!is_served) return NotServed();
  if (target.verb == "get") return Get(request, target, view);
  if (target.verb == "list") return List(request, target, view);
  if (target.verb == "watch") return ToResponse(BadRequest("a watch needs OpenWatch"));
  return ToResponse(Write(client, request, target));
}

Reply ApiServer::Write(const std::string& client, const http::Request& request,
                       const Target& target) {
  const bool wants_json = target.verb == "create" || target.verb == "update" ||
                          (target.verb == "delete" && !request.body.empty());
  const bool is_patch = target.verb == "patch";
  const bool known_patch = request.content_type == "application/merge-patch+json" ||
                           request.content_type == "application/json-patch+json";
  if ((wants_json && request.content_type != "application/json") || (is_patch && !known_patch)) {
    return Failed(
        415, "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/json-patch+json, application/merge-patch+json");
  }
  if (request.body.empty()) return WriteParsed(client, request, target, Value::Object());
  base::Result<Value> body = json::Parse(request.body);
  if (!body) return BadRequest("the body of the request is not JSON: " + body.error().message);
  return WriteParsed(client, request, target, *std::move(body));
}

Reply ApiServer::WriteParsed(const std::string& client, const http::Request& request,
                             const Target& target, Value body) {
  const kube::Resource& resource = target.kind->resource;
  const Kind kind = target.kind->kind;
  const bool is_status = target.subresource == "status";
  if (!target.subresource.empty() && !(is_status && target.kind->has_status)) {
    return Failed(404, "NotFound", "the server could not find the requested resource");
  }
  const Subresource subresource = is_status ? Subresource::kStatus : Subresource::kNone;
  if (target.verb == "create" || target.verb == "update") {
    const bool is_kind = body["kind"].AsString() == resource.kind &&
                         body["apiVersion"].AsString() == resource.ApiVersion();
    if (!is_kind) return BadRequest("the object's kind is not that of the URL");
  }
  if (target.verb == "create" && target.key.name.empty()) {
    if (resource.namespaced && target.key.ns.empty()) {
      return Failed(405, "MethodNotAllowed", "a namespace is needed to create " + resource.plural);
    }
    return store_.Create(client, kind, target.key.ns, std::move(body));
  }
  if (target.key.name.empty() || target.verb == "create") {
    return Failed(405, "MethodNotAllowed",
                  "the server does not allow this method on the requested resource");
  }
  if (target.verb == "update") {
    return store_.Update(client, kind, target.key, std::move(body), subresource);
  }
  if (target.verb == "delete") {
    return store_.Delete(client, kind, target.key, ParseDeleteOptions(body));
  }
  const PatchType type =
      request.content_type == "application/merge-patch+json" ? PatchType::kMerge : PatchType::kJson;
  return store_.Patch(client, kind, target.key, type, body, subresource);
}

http::Response ApiServer::Get(const http::Request& request, const Target& target,
                              Revision view) const {
  const Kind kind = target.kind->kind;
  ObjectPtr object;
  if (view >= store_.revision()) {
    object = store_.Get(kind, target.key);
  } else {
    const Objects state = store_.history().StateAt(kind, view);
    if (const auto it = state.find(target.key); it != state.end()) object = it->second;
  }
  if (!object) return ToResponse(ObjectStore::NotFound(kind, target.key.name));
  if (WantsMetadata(request, "PartialObjectMetadata")) {
    return {.status = 200, .body = MetadataOnly(*object)};
  }
  return {.status = 200, .body = object->text()};
}

http::Response ApiServer::List(const http::Request& request, const Target& target,
                               Revision view) const {
  const KindInfo& kind = *target.kind;
  const auto selector =
      Selector::Parse(kind, target.Query("labelSelector"), target.Query("fieldSelector"));
  if (!selector) return ToResponse(BadRequest(selector.error().message));
  const auto asked = ParseRevision(target.Query("resourceVersion"));
  const auto limit = ParseRevision(target.Query("limit"));
  if (!asked || !limit) return ToResponse(BadRequest("a number was expected"));

  Continuation from = {.revision = std::min(view, store_.revision())};
  if (const std::string& token = target.Query("continue"); !token.empty()) {
    const auto decoded = DecodeContinuation(token);
    if (!decoded || *asked != 0) return ToResponse(BadRequest("continue key is not valid"));
    if (decoded->revision < compacted_) {
      return ToResponse(Failed(410, "Expired",
                               "The provided continue parameter is too old to display a consistent "
                               "list result."));
    }
    from = *decoded;
  } else if (*asked > from.revision) {
    return ToResponse(TooNew(*asked, from.revision));
  }

  const bool metadata_only = WantsMetadata(request, "PartialObjectMetadataList");
  const bool is_newest = from.revision >= store_.revision();
  const Objects earlier =
      is_newest ? Objects() : store_.history().StateAt(kind.kind, from.revision);
  const Page page = MakePage(is_newest ? store_.Live(kind.kind) : earlier, target, *selector, from,
                             *limit, metadata_only);
  Value metadata = Value::Object({{"resourceVersion", std::to_string(from.revision)}});
  if (!page.continue_token.empty()) {
    metadata["continue"] = page.continue_token;
    if (selector->SelectsAll()) metadata["remainingItemCount"] = page.remaining;
  }
  const std::string list_kind =
      metadata_only ? "PartialObjectMetadataList" : kind.resource.kind + "List";
  const std::string version = metadata_only ? "meta.k8s.io/v1" : kind.resource.ApiVersion();
  return {.status = 200,
          .body = "{\"kind\":\"" + list_kind + "\",\"apiVersion\":\"" + version +
                  "\",\"metadata\":" + json::Serialize(metadata) + ",\"items\":[" + page.items +
                  "]}"};
}

WatchStream ApiServer::Open(const Target& target, Revision view) const {
  if (target.kind == nullptr || target.verb != "watch" || !store_.IsServed(target.kind->kind)) {
    return WatchStream(NotServed());
  }
  if (!target.Query("sendInitialEvents").empty()) {
    return WatchStream(
        ToResponse(Failed(422, "Invalid",
                          "sendInitialEvents is forbidden for watch unless the WatchList "
                          "feature gate is enabled")));
  }
  auto selector =
      Selector::Parse(*target.kind, target.Query("labelSelector"), target.Query("fieldSelector"));
  if (!selector) return WatchStream(ToResponse(BadRequest(selector.error().message)));
  const auto start = ParseRevision(target.Query("resourceVersion"));
  if (!start) return WatchStream(ToResponse(BadRequest("Invalid value for resourceVersion")));
  if (*start > view) return WatchStream(ToResponse(TooNew(*start, view)));
  const Reply gone = Failed(410, "Expired",
                            "too old resource version: " + std::to_string(*start) + " (" +
                                std::to_string(compacted_) + ")");
  const bool is_gone = *start > 0 && *start < compacted_;
  if (is_gone && gone_as_status_) return WatchStream(ToResponse(gone));

  std::deque<std::string> initial;
  if (is_gone) initial.push_back(WatchFrame("ERROR", json::Serialize(gone.status)));
  if (*start == 0) {  // From any version: what is there now comes first.
    for (const auto& [key, object] : store_.history().StateAt(target.kind->kind, view)) {
      const bool selected =
          (target.key.ns.empty() || key.ns == target.key.ns) && selector->Matches(*object);
      if (selected) initial.push_back(WatchFrame("ADDED", object->text()));
    }
  }
  const auto seconds = ParseRevision(target.Query("timeoutSeconds")).value_or(0);
  WatchStream stream(store_.history(), *target.kind, target.key.ns, *std::move(selector),
                     *start == 0 ? view : *start, std::move(initial),
                     std::chrono::seconds(static_cast<std::int64_t>(seconds)));
  return stream;
}

// What is served: "/apis", "/apis/<group>", "/api/v1", "/apis/<group>/<version>" and "/version".
http::Response ApiServer::Discover(const Target& target) const {
  const std::vector<std::string>& path = target.segments;
  const bool is_get = target.verb == "list" || target.verb == "get";
  if (is_get && path == std::vector<std::string>{"version"}) {
    return {.status = 200, .body = R"({"major":"1","minor":"37","gitVersion":"v1.37.2"})"};
  }
  const bool of_version =
      path.size() == 2 ? path[0] == "api" : path.size() == 3 && path[0] == "apis";
  const bool of_group = path.size() == 2 && path[0] == "apis";
  if (!is_get || path.empty() || (!of_version && !of_group)) {
    return ToResponse(Failed(404, "NotFound", "the server could not find the requested resource"));
  }
  const std::string group = path[0] == "api" ? "" : path[1];
  Value resources = Value::Array();
  std::string version;
  for (const Kind kind : kAllKinds) {
    const kube::Resource& resource = Describe(kind).resource;
    const bool listed = store_.IsServed(kind) && resource.group == group &&
                        (of_group || resource.version == path.back());
    if (!listed) continue;
    version = resource.version;
    resources.Append(Value::Object(
        {{"name", resource.plural}, {"kind", resource.kind}, {"namespaced", resource.namespaced}}));
  }
  if (version.empty()) {
    return ToResponse(Failed(404, "NotFound", "the server could not find the requested resource"));
  }
  const std::string group_version = group.empty() ? version : group + "/" + version;
  const Value version_value =
      Value::Object({{"groupVersion", group_version}, {"version", version}});
  const Value body = of_group ? Value::Object({{"kind", "APIGroup"},
                                               {"apiVersion", "v1"},
                                               {"name", group},
                                               {"versions", Value::Array({version_value})},
                                               {"preferredVersion", version_value}})
                              : Value::Object({{"kind", "APIResourceList"},
                                               {"apiVersion", "v1"},
                                               {"groupVersion", group_version},
                                               {"resources", std::move(resources)}});
  return {.status = 200, .body = json::Serialize(body)};
}

}  // namespace simulation
