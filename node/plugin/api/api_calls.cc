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

using base::ErrorCode, base::Result;
using dra::Send;
using json::Value;

// Conflicts are rare: kubelets write their nodes every few seconds at most.
constexpr int kTriesMax = 3;
constexpr std::size_t kRuntimeMax = 64;

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

Result<api::Node> NodeIn(const http::Response& reply) {
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  return api::DecodeNode(object);
}

Result<http::Response> ReadNode(http::Transport& transport, const std::string& node) {
  return Send(kube::GetRequest(kube::kNodes, {.name = node}), transport)
      .map_error(base::While("read node " + node));
}

}  // namespace

Result<std::set<std::string>> ReadDomains(http::Transport& transport, const std::string& ns) {
  std::set<std::string> uids;
  TRY(dra::ForEachObject(transport, api::kComputeDomains, ns, [&uids](std::string_view domain) {
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

}  // namespace plugin
