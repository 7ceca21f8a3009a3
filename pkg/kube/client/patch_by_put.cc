#include "pkg/kube/client/patch_by_put.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/json/value.h"

namespace kube {

namespace {

using http::Method, http::Request;
using json::Value;

// The parts of "/apis/group/version/namespaces/ns/plural/name/subresource".
struct PathParts {
  std::string_view plural = {};
  std::string_view name = {};
  std::string_view subresource = {};
};

PathParts Split(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash);
  }
  const auto at = [&](std::size_t i) { return i < parts.size() ? parts[i] : std::string_view(); };
  std::size_t i = at(0) == "api" ? 2 : 3;
  if (at(i) == "namespaces" && parts.size() > i + 2) i += 2;
  return {.plural = at(i), .name = at(i + 1), .subresource = at(i + 2)};
}

// Applies a merge patch (RFC 7396).
void Merge(Value& target, const Value& patch) {
  if (!patch.IsObject()) {
    target = patch;
    return;
  }
  if (!target.IsObject()) target = Value::Object();
  for (const auto& [name, value] : patch.members()) {
    if (value.IsNull()) {
      target.Erase(name);
    } else {
      Merge(target[name], value);
    }
  }
}

base::Error CannotApply(std::string why) {
  return {.code = base::ErrorCode::kInvalid,
          .message = "the patch cannot be applied: " + std::move(why),
          .cause = std::string(kTestFailed)};
}

// Returns the members in a JSON pointer, unescaped.
std::vector<std::string> Steps(std::string_view pointer) {
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    const char c = pointer[i];
    if (c == '/') {
      steps.emplace_back();
    } else if (c == '~' && i + 1 < pointer.size() && !steps.empty()) {
      steps.back() += pointer[++i] == '1' ? '/' : '~';
    } else if (!steps.empty()) {
      steps.back() += c;
    }
  }
  return steps;
}

// Applies one operation of RFC 6902 to a member of an object. cdom sends no others.
base::Result<void> ApplyOperation(const Value& operation, Value& target) {
  const std::string& op = operation["op"].AsString();
  const std::vector<std::string> steps = Steps(operation["path"].AsString());
  if (steps.empty()) return tl::unexpected(CannotApply("it has no path"));
  if (op == "test") {
    const Value* found = &target;
    for (const std::string& step : steps) found = &std::as_const(*found)[step];
    if (*found == operation["value"]) return {};  // For the server a missing value is null.
    return tl::unexpected(CannotApply(operation["path"].AsString() + " is another by now"));
  }
  Value* parent = &target;
  for (std::size_t i = 0; i + 1 < steps.size() && parent != nullptr; ++i) {
    parent = parent->Find(steps[i]);
  }
  if (op == "add") {
    // For the server a missing map is an empty one.
    for (parent = &target; const std::string& step : std::span(steps).first(steps.size() - 1)) {
      parent = &(*parent)[step];
    }
    (*parent)[steps.back()] = operation["value"];
    return {};
  }
  Value* found = parent == nullptr ? nullptr : parent->Find(steps.back());
  if (found == nullptr || (op != "remove" && op != "replace")) {
    return tl::unexpected(CannotApply("nothing is at " + operation["path"].AsString()));
  }
  if (op == "replace") {
    *found = operation["value"];
  } else {
    parent->Erase(steps.back());
  }
  return {};
}

base::Result<void> MergeLocked(const Value& patch, Value& object) {
  for (const char* const lock : {"uid", "resourceVersion"}) {
    const std::string& expected = patch["metadata"][lock].AsString();
    const std::string& found = std::as_const(object)["metadata"][lock].AsString();
    if (!expected.empty() && expected != found) {
      return base::Fail(base::ErrorCode::kConflict, "the object has been modified");
    }
  }
  Merge(object, patch);
  return {};
}

// Returns RBAC's verb for one object.
const char* VerbOf(Method method) {
  constexpr std::array<const char*, 5> kVerbs = {"get", "create", "update", "patch", "delete"};
  return kVerbs.at(static_cast<std::size_t>(method));
}

}  // namespace

Permission PermissionFor(const Request& request) {
  const PathParts path = Split(request.path);
  if (path.plural.empty() || (path.name.empty() && request.method != Method::kPost)) return {};
  Permission right = {.verb = VerbOf(request.method), .resource = std::string(path.plural)};
  if (!path.subresource.empty()) right.resource.append("/").append(path.subresource);
  return right;
}

bool IsMissingPermission(const base::Error& error) {
  // User "x" cannot patch resource "nodes" in API group "" ...
  return error.code == base::ErrorCode::kForbidden &&
         error.message.find(" cannot ") != std::string::npos &&
         error.message.find(" resource ") != std::string::npos;
}

Request ReadBeforePut(const Request& patch) {
  CHECK(patch.method == Method::kPatch);
  const std::string_view subresource = Split(patch.path).subresource;
  std::string path = patch.path;
  if (!subresource.empty()) path.resize(path.size() - subresource.size() - 1);
  return {.path = std::move(path)};
}

base::Result<Request> PutInstead(const Request& patch, std::string_view object) {
  Value changes = TRY(json::Parse(patch.body));  // Written by cdom.
  Value changed = TRY(json::Parse(object));
  const std::string& version = std::as_const(changed)["metadata"]["resourceVersion"].AsString();
  if (version.empty()) {  // Without it, a PUT overwrites any version.
    return base::Unavailable("what was read has no resourceVersion");
  }
  if (changes.IsArray()) {
    for (const Value& operation : changes.items()) TRY(ApplyOperation(operation, changed));
  } else {
    TRY(MergeLocked(changes, changed));
  }
  return Request{.method = Method::kPut,
                 .path = patch.path,
                 .content_type = "application/json",
                 .body = json::Serialize(changed)};
}

}  // namespace kube
