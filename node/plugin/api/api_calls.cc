#include "node/plugin/api/api_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/api/names.h"
#include "pkg/json/repair.h"
#include "pkg/json/slices.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/client/page_limit.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"

namespace plugin {

namespace {

using base::ErrorCode, base::Fail, base::Result;
using json::Value;

// The kubelet waits for 45 s in total.
constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kObjectMax = 4U << 20;
constexpr int kPage = 250;
// Conflicts are rare: kubelets write their nodes every few seconds at most.
constexpr int kTriesMax = 3;
constexpr std::size_t kRuntimeMax = 64;

Result<http::Response> Send(http::Request request, http::Transport& transport,
                            std::size_t bytes_max = kObjectMax) {
  request.timeout = kTimeout;
  request.response_bytes_max = bytes_max;
  return kube::CheckStatus(transport.Send(request), request.method);
}

Result<http::Response> ReadAndPut(const http::Request& patch, http::Transport& transport) {
  const http::Response read = TRY(Send(kube::ReadBeforePut(patch), transport));
  return Send(TRY(kube::PutInstead(patch, read.body)), transport);
}

// Sends a patch or, without that permission, reads the object and writes it with PUT. An authorizer
// that fails also refuses: only a PUT that worked shows that the permission to patch is missing.
Result<http::Response> SendPatch(const http::Request& patch, http::Transport& transport,
                                 bool& may_patch) {
  std::optional<base::Error> refusal;
  if (may_patch) {
    auto reply = Send(patch, transport);
    if (reply || !kube::IsMissingPermission(reply.error())) return reply;
    refusal = std::move(reply.error());
  }
  auto put = ReadAndPut(patch, transport);
  const bool is_refused = !put && kube::IsMissingPermission(put.error());
  if (put) may_patch = false;
  if (is_refused) may_patch = true;
  if (is_refused && refusal) return tl::unexpected(*std::move(refusal));
  return put;
}

kube::Resource InVersion(kube::Resource resource, SliceApi version) {
  resource.version = NameOf(version);
  return resource;
}

// Calls `use(text)` for each object of a collection. Tenants write the objects, and none becomes a
// tree.
template <typename Use>
Result<void> ForEach(http::Transport& transport, const kube::Resource& resource,
                     const std::string& ns, Use use) {
  kube::PageLimit page(kPage);
  kube::ListOptions options = {.ns = ns};
  while (true) {
    options.limit = page.objects();
    options.bytes_max = page.bytes_max();
    const auto reply = Send(kube::ListRequest(resource, options), transport, page.bytes_max())
                           .map_error(base::While("list " + resource.plural));
    if (!reply && reply.error().code == ErrorCode::kTooLarge && page.Shrink()) continue;
    if (!reply) return tl::unexpected(reply.error());
    page.OnPage(reply->body.size());
    const std::string& list = reply->body.text();
    const std::string_view items = json::SliceOf(list, "items");
    if (items.empty()) return base::Invalid("the list of " + resource.plural + " has no items");
    TRY(json::ForEachSlice(items, [&](std::string_view, std::string_view item) { use(item); }));
    options.continue_token = json::TextOf(json::SliceOf(list, "metadata"), "continue");
    if (options.continue_token.empty()) return {};
  }
}

Result<api::Node> NodeIn(const http::Response& reply) {
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  return api::DecodeNode(object);
}

Result<http::Response> ReadNode(http::Transport& transport, const std::string& node) {
  return Send(kube::GetRequest(kube::kNodes, {.name = node}), transport)
      .map_error(base::While("read node " + node));
}

kube::Resource SlicesIn(SliceApi api) { return InVersion(kube::kResourceSlices, api); }

// Returns the slice as the server has it after the request.
Result<SliceWritten> PutSlice(http::Transport& transport, http::Request request,
                              const ResourceSlice& slice, SliceApi api) {
  const std::string_view method = http::ToString(request.method);
  const auto reply = TRY(Send(std::move(request), transport)
                             .map_error(base::While(std::string(method) + " of a ResourceSlice")));
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  return SliceWritten{.meta = TRY(kube::DecodeMeta(object)),
                      .holds = HasContentOf(object, slice, api)};
}

// Returns the slice as the server has it. `slice` takes over the time of its error.
Result<SliceWritten> ReadSlice(http::Transport& transport, const kube::ObjectMeta& meta,
                               SliceApi version, ResourceSlice& slice) {
  const auto reply = TRY(Send(kube::GetRequest(SlicesIn(version), meta.key), transport)
                             .map_error(base::While("read ResourceSlice " + meta.key.name)));
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  if (slice.error) {
    slice.error->since = ErrorSince(object, version, slice.error->of).value_or(slice.error->since);
  }
  return SliceWritten{.meta = TRY(kube::DecodeMeta(object)),
                      .holds = HasContentOf(object, slice, version)};
}

Result<void> DeleteSlice(http::Transport& transport, const kube::ObjectMeta& meta, SliceApi api) {
  const auto reply =
      Send(kube::DeleteRequest(SlicesIn(api), meta.key, meta.uid, kube::Propagation::kBackground),
           transport)
          .map_error(base::While("delete ResourceSlice " + meta.key.name));
  if (!reply && !kube::ProvesAbsence(reply.error(), SlicesIn(api), meta.key.name)) {
    return tl::unexpected(reply.error());
  }
  return {};
}

// Deletes a slice with missing content, which is worse than no slice.
Result<SliceWritten> KeepIfItHolds(http::Transport& transport, SliceWritten written, SliceApi api) {
  if (!written.holds) TRY(DeleteSlice(transport, written.meta, api));
  return written;
}

}  // namespace

Result<ClaimToPrepare> ReadClaim(http::Transport& transport, SliceApi version,
                                 const kube::ObjectKey& key, const std::string& uid) {
  const std::string name = "claim " + kube::ToString(key);
  const auto reply =
      Send(kube::GetRequest(InVersion(kube::kResourceClaims, version), key), transport)
          .map_error(base::While("read " + name));
  if (!reply) {
    base::Error error = reply.error();
    const bool is_absent = kube::ProvesAbsence(error, kube::kResourceClaims, key.name);
    if (error.code == ErrorCode::kNotFound && !is_absent) error.code = ErrorCode::kUnavailable;
    return tl::unexpected(std::move(error));
  }
  ClaimToPrepare claim = TRY(DecodeResourceClaim(reply->body));
  if (claim.uid != uid) {
    return Fail(ErrorCode::kNotFound, name + " was created again: its UID is " + claim.uid);
  }
  return claim;
}

Result<bool> ClaimExists(http::Transport& transport, SliceApi version, const kube::ObjectKey& key,
                         const std::string& uid) {
  const auto reply =
      Send(kube::GetRequest(InVersion(kube::kResourceClaims, version), key), transport)
          .map_error(base::While("look up claim " + kube::ToString(key)));
  if (!reply && kube::ProvesAbsence(reply.error(), kube::kResourceClaims, key.name)) return false;
  if (!reply) return tl::unexpected(reply.error());
  return TRY(DecodeResourceClaim(reply->body)).uid == uid;
}

Result<std::vector<ClaimToPrepare>> ReadClaimsOf(http::Transport& transport, SliceApi version,
                                                 const std::string& node) {
  std::vector<ClaimToPrepare> claims;
  TRY(ForEach(transport, InVersion(kube::kResourceClaims, version), "", [&](std::string_view item) {
    auto claim = DecodeResourceClaim(item);
    const bool is_here = claim && claim->wanted && claim->wanted->device.pool == node;
    if (is_here) claims.push_back(*std::move(claim));
  }));
  return claims;
}

Result<std::set<std::string>> ReadDomains(http::Transport& transport, const std::string& ns) {
  std::set<std::string> uids;
  TRY(ForEach(transport, api::kComputeDomains, ns, [&uids](std::string_view domain) {
    uids.insert(json::TextOf(json::SliceOf(domain, "metadata"), "uid"));
  }));
  return uids;
}

bool IsReadyIn(const api::Clique& clique, const std::string& node) {
  const auto own = std::ranges::find(clique.daemons, node, &api::Member::node);
  return own != clique.daemons.end() && own->ready;
}

Result<bool> ReadIsReady(http::Transport& transport, const kube::ObjectKey& key,
                         const std::string& node) {
  const auto reply = Send(kube::GetRequest(api::kComputeDomainCliques, key), transport)
                         .map_error(base::While("read clique " + key.name));
  // No clique, or no such kind.
  if (!reply && reply.error().code == ErrorCode::kNotFound) return false;
  if (!reply) return tl::unexpected(reply.error());
  const json::Document object = TRY(json::ParseRepaired(reply->body));
  return IsReadyIn(TRY(api::DecodeClique(object)), node);
}

Result<api::Node> ChangeLabel(http::Transport& transport, const std::string& node, api::Node seen,
                              const LabelChange& change, bool& may_patch) {
  const bool is_domain = change.which == LabelChange::Which::kDomain;
  for (int tries = 0;; ++tries) {
    if ((is_domain ? seen.domain : seen.clique) != change.from) return seen;
    // With the version, a merge patch applies only to the node that was read, like a PUT.
    Value labels = Value::Object({{is_domain ? api::kDomainLabel : api::kNodeCliqueLabel,
                                   change.to.empty() ? Value() : Value(change.to)}});
    const Value patch =
        Value::Object({{"metadata", Value::Object({{"uid", seen.meta.uid},
                                                   {"resourceVersion", seen.meta.resource_version},
                                                   {"labels", std::move(labels)}})}});
    const auto reply = SendPatch(kube::MergePatchRequest(kube::kNodes, {.name = node}, patch),
                                 transport, may_patch)
                           .map_error(base::While("label node " + node));
    if (reply) return NodeIn(*reply);
    if (reply.error().code != ErrorCode::kConflict || tries == kTriesMax) {
      return tl::unexpected(reply.error());
    }
    const auto again = TRY(ReadNode(transport, node));
    seen = TRY(NodeIn(again));
  }
}

Result<std::string> ReadRuntime(http::Transport& transport, const std::string& node) {
  const auto reply = TRY(ReadNode(transport, node));
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  return json::OneLine(object["status"]["nodeInfo"]["containerRuntimeVersion"].AsString(),
                       kRuntimeMax);
}

Result<SliceWritten> WriteSlice(http::Transport& transport, ResourceSlice slice, SliceApi api,
                                const std::vector<kube::ObjectMeta>& found) {
  for (std::size_t i = 1; i < found.size(); ++i) TRY(DeleteSlice(transport, found[i], api));
  if (found.empty()) {
    auto made = TRY(PutSlice(transport, kube::CreateRequest(SlicesIn(api), "", Render(slice, api)),
                             slice, api));
    return KeepIfItHolds(transport, std::move(made), api);
  }
  const kube::ObjectMeta& meta = found[0];
  SliceWritten is = TRY(ReadSlice(transport, meta, api, slice));
  if (is.holds) return is;
  Value object = Render(slice, api);
  object["metadata"].Erase("generateName");
  object["metadata"]["name"] = meta.key.name;
  object["metadata"]["uid"] = is.meta.uid;
  object["metadata"]["resourceVersion"] = is.meta.resource_version;
  auto put =
      TRY(PutSlice(transport, kube::UpdateRequest(SlicesIn(api), meta.key, object), slice, api));
  return KeepIfItHolds(transport, std::move(put), api);
}

}  // namespace plugin
