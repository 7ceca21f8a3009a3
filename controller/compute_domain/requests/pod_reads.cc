#include <algorithm>
#include <memory>
#include <utility>

#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/requests/live_reads.h"
#include "pkg/base/find.h"
#include "pkg/json/repair.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

namespace {

using base::Result;

// A selection of more nodes is as good as all nodes, and costs the API server more. With metadata
// only, a Node has about 5 KB.
constexpr int kNodesMax = 100;
constexpr std::size_t kNodesBytesMax = 4U << 20;
// Of all pods that are read.
constexpr std::size_t kSelectionsMax = 5;
constexpr int kSlicesPage = 100;  // A slice has about 10 KB.
// A pod has some 10 KB. Users write it, and one that is larger is not read.
constexpr std::size_t kPodBytesMax = 256U << 10;
// Of one request after another, so that memory does not grow with the pods of a domain.
constexpr std::size_t kUsesAtOnce = 8;

http::Request PodRequest(const std::string& ns, const std::string& name) {
  http::Request request = kube::GetRequest(kube::kPods, {.ns = ns, .name = name});
  request.response_bytes_max = kPodBytesMax;
  return request;
}

http::Request NodesRequest(const api::NodeSelection& selection) {
  return kube::ListRequest(kube::kNodes, {.label_selector = selection.labels,
                                          .field_selector = selection.fields,
                                          .limit = kNodesMax,
                                          .bytes_max = kNodesBytesMax,
                                          .metadata_only = true});
}

http::Request SlicesRequest(const Page& page, const Observed& observed) {
  kube::Resource slices = kube::kResourceSlices;
  slices.version = observed.facts.views.claim_version;
  return kube::ListRequest(slices,
                           {.field_selector = "spec.driver=" + std::string(api::kGpuDeviceClass),
                            .continue_token = page.continue_token,
                            .limit = page.limit.objects(),
                            .bytes_max = page.limit.bytes_max()});
}

void TakePods(const ReadPodConditions& action, const Replies& replies, const Observed& observed,
              PodsRead& pods) {
  for (std::size_t i = 0; i < action.names.size(); ++i) {
    const std::string& name = action.names[i];
    api::UserPod pod = replies[i] ? api::DecodeUserPod(replies[i]->body) : api::UserPod{};
    pods.found.messages[name] = pod.unschedulable;
    if (pod.has_started) pods.found.started_pods.insert(name);
    if (!pod.lacks_device) continue;
    for (const api::NodeSelection& selection : pod.nodes) {
      const bool is_known = base::Contains(pods.selections, selection);
      if (!is_known && pods.selections.size() < kSelectionsMax)
        pods.selections.push_back(selection);
    }
    pods.lacking[name] = std::move(pod);
  }
  const bool needs_gpus = NumberOfGpus(observed) > 0 && observed.facts.cluster.gpus.is_old;
  if (pods.lacking.empty() || !needs_gpus) return;
  pods.slices = Page{.limit = kube::PageLimit(kSlicesPage)};
}

// Empty if the reply is not such a list, or if there is more than one page.
std::optional<std::set<std::string>> NamesIn(const Reply& reply) {
  if (!reply) return {};
  const Result<kube::ListPage> list = kube::ReadListPage(reply->body);
  if (!list || !CheckList(Kind::kNode, *list, true) || !list->continue_token.empty()) return {};
  std::set<std::string> names;
  json::Parser parser;
  for (const std::string_view item : list->items) {
    const Result<json::View> object = json::ParseRepaired(parser, item);
    if (object) names.insert(std::string((*object)["metadata"]["name"].AsString()));
  }
  return names;
}

Result<void> TakeSlices(const Reply& reply, PodsRead& pods) {
  Page page = *std::exchange(pods.slices, std::nullopt);
  const bool is_too_large = !reply && reply.error().code == base::ErrorCode::kTooLarge;
  if (is_too_large && page.limit.Shrink()) {
    pods.slices = std::move(page);
    return {};
  }
  if (!reply) return tl::unexpected(reply.error());
  const kube::ListPage list = TRY(kube::ReadListPage(reply->body));
  if (list.kind != "ResourceSliceList") return base::Unavailable("no list of ResourceSlices");
  json::Parser parser;
  for (const std::string_view item : list.items) {
    api::CountGpus(TRY(json::ParseRepaired(parser, item)), pods.gpus);
  }
  if (list.continue_token.empty()) return {};
  if (list.continue_token == page.continue_token) return base::Unavailable("a page has no end");
  page.limit.OnPage(reply->body.size());
  page.continue_token = list.continue_token;
  pods.slices = std::move(page);
  return {};
}

PodReach ReachOf(const api::UserPod& pod, const PodsRead& pods) {
  PodReach reach = {.tolerations = pod.tolerations};
  std::set<std::string> nodes;
  for (const api::NodeSelection& selection : pod.nodes) {
    const auto names = base::FindOr(pods.nodes, selection, {});
    if (!names) return reach;
    nodes.insert(names->begin(), names->end());
  }
  if (!pod.nodes.empty() && nodes.size() <= kNodesMax) reach.nodes = std::move(nodes);
  return reach;
}

void AddReach(PodsRead& pods) {
  std::vector<std::shared_ptr<const PodReach>> all;
  for (const auto& [name, pod] : pods.lacking) {
    const PodReach reach = ReachOf(pod, pods);
    auto same = std::ranges::find(all, reach, [](const auto& one) { return *one; });
    if (same == all.end()) same = all.insert(same, std::make_shared<const PodReach>(reach));
    pods.found.reach[name] = *same;
  }
}

}  // namespace

Requests RequestsOf(const ReadPodConditions& action, const Observed& observed,
                    const ActionProgress& read) {
  Requests requests;
  if (!read.pods.found.messages.empty()) {
    for (const auto& one : read.pods.selections) requests.push_back(NodesRequest(one));
    if (read.pods.slices) requests.push_back(SlicesRequest(*read.pods.slices, observed));
    return requests;
  }
  for (const std::string& name : action.names) {
    requests.push_back(PodRequest(action.ns, name));
  }
  return requests;
}

// Without the nodes or the GPUs only an explanation says less.
Result<void> HandleReplies(const ReadPodConditions& action, const Replies& replies,
                           ReplyContext& to) {
  PodsRead& pods = to.progress.pods;
  if (pods.found.messages.empty()) {
    TakePods(action, replies, to.observed, pods);
  } else {
    auto reply = replies.begin();
    for (const auto& selection : std::exchange(pods.selections, {})) {
      pods.nodes[selection] = NamesIn(*reply++);
    }
    if (pods.slices && TakeSlices(*reply, pods) && !pods.slices) {
      to.result.gpus = std::make_shared<const api::GpusByNode>(std::move(pods.gpus));
    }
  }
  to.result.goes_on = !pods.selections.empty() || pods.slices;
  if (to.result.goes_on) return {};
  AddReach(pods);
  to.result.memory.emplace_back(pods.found);
  to.result.findings.emplace_back(std::move(pods.found));
  return {};
}

Requests RequestsOf(const ReadUses& action, const Observed& /*observed*/,
                    const ActionProgress& read) {
  Requests requests;
  const std::size_t from = read.uses.lists_claim.size();
  for (std::size_t i = from; i < std::min(from + kUsesAtOnce, action.uses.size()); ++i) {
    requests.push_back(PodRequest(action.ns, action.uses[i].pod));
  }
  return requests;
}

// Without a pod only an explanation is missing. A read that fails otherwise than by its answer is
// tried again with the next pass.
Result<void> HandleReplies(const ReadUses& action, const Replies& replies, ReplyContext& to) {
  UsesRead& known = to.progress.uses;
  for (const Reply& reply : replies) {
    const Use& use = action.uses[known.lists_claim.size()];
    const bool is_open = !reply && (reply.error().code == base::ErrorCode::kUnavailable ||
                                    reply.error().code == base::ErrorCode::kDeadlineExceeded);
    if (is_open) {
      to.result.memory.emplace_back(std::move(known));
      return {};
    }
    const bool is_unlisted =
        reply && api::DecodeUserPod(reply->body).unlisted_claims.contains(use.claim);
    known.lists_claim[use.key] = !is_unlisted;
  }
  to.result.goes_on = known.lists_claim.size() < action.uses.size();
  if (!to.result.goes_on) to.result.memory.emplace_back(std::move(known));
  return {};
}

}  // namespace compute_domain
