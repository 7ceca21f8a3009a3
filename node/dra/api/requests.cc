#include "node/dra/api/requests.h"

#include <utility>

#include "pkg/json/repair.h"
#include "pkg/json/slices.h"
#include "pkg/kube/client/page_limit.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"

namespace dra {

namespace {

using base::ErrorCode, base::Result;
using json::Value;

// The kubelet waits for 45 s in total.
constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kObjectMax = 4U << 20;
constexpr int kPage = 250;

Result<http::Response> SendUpTo(std::size_t bytes_max, http::Request request,
                                http::Transport& transport) {
  request.timeout = kTimeout;
  request.response_bytes_max = bytes_max;
  return kube::CheckStatus(transport.Send(request), request.method);
}

kube::Resource InVersion(kube::Resource resource, SliceApi version) {
  resource.version = NameOf(version);
  return resource;
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

// Returns the slice as the server has it. `slice` takes over the times of its taints.
Result<SliceWritten> ReadSlice(http::Transport& transport, const kube::ObjectMeta& meta,
                               SliceApi version, ResourceSlice& slice) {
  const auto reply = TRY(Send(kube::GetRequest(SlicesIn(version), meta.key), transport)
                             .map_error(base::While("read ResourceSlice " + meta.key.name)));
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  for (SliceDevice& device : slice.devices) {
    if (!device.taint) continue;
    device.taint->since =
        TaintedSince(object, version, *device.taint).value_or(device.taint->since);
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

Result<http::Response> Send(http::Request request, http::Transport& transport) {
  return SendUpTo(kObjectMax, std::move(request), transport);
}

Result<void> ForEachObject(http::Transport& transport, const kube::Resource& resource,
                           const std::string& ns,
                           const std::function<void(std::string_view text)>& use) {
  kube::PageLimit page(kPage);
  kube::ListOptions options = {.ns = ns};
  while (true) {
    options.limit = page.objects();
    options.bytes_max = page.bytes_max();
    const auto reply = SendUpTo(page.bytes_max(), kube::ListRequest(resource, options), transport)
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

kube::Resource ClaimsIn(SliceApi version) { return InVersion(kube::kResourceClaims, version); }

Result<http::Response> ReadClaimObject(http::Transport& transport, SliceApi version,
                                       const kube::ObjectKey& key) {
  auto reply = Send(kube::GetRequest(ClaimsIn(version), key), transport)
                   .map_error(base::While("read claim " + kube::ToString(key)));
  if (!reply) {
    base::Error& error = reply.error();
    const bool is_absent = kube::ProvesAbsence(error, kube::kResourceClaims, key.name);
    if (error.code == ErrorCode::kNotFound && !is_absent) error.code = ErrorCode::kUnavailable;
  }
  return reply;
}

Result<bool> ClaimExists(http::Transport& transport, SliceApi version, const kube::ObjectKey& key,
                         const std::string& uid) {
  const auto reply = Send(kube::GetRequest(ClaimsIn(version), key), transport)
                         .map_error(base::While("look up claim " + kube::ToString(key)));
  if (!reply && kube::ProvesAbsence(reply.error(), kube::kResourceClaims, key.name)) return false;
  if (!reply) return tl::unexpected(reply.error());
  return TRY(DecodeClaimObject(reply->body)).uid == uid;
}

base::Error AdviseOnListing(base::Error error, const std::string& ns) {
  if (!kube::IsMissingPermission(error)) return error;
  const std::string role = "cdom-kubelet-plugin-recovery";
  error.message =
      "the checkpoint is unreadable, and claims may not be listed. Run `kubectl create "
      "clusterrolebinding " +
      role + " --clusterrole=" + role + " --serviceaccount=" + ns +
      ":cdom-kubelet-plugin`, and delete it when the node serves";
  return error;
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

}  // namespace dra
