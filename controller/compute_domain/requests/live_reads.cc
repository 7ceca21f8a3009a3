#include "controller/compute_domain/requests/live_reads.h"

#include <algorithm>
#include <utility>

#include "controller/api/events.h"
#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/check.h"
#include "pkg/base/find.h"
#include "pkg/json/repair.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/discovery/version_search.h"

namespace compute_domain {

using base::Result;

namespace {

// A page has about 1 MB: a Node, Pod or DaemonSet has up to 10 KB, other objects 2.5 KB. A pass
// reads several collections in parallel.
int PageSizeOf(Kind kind) {
  const bool is_large = kind == Kind::kNode || kind == Kind::kDaemonPod || kind == Kind::kDaemonSet;
  return is_large ? 100 : 400;
}

http::Request PageRequest(const Page& page, const Observed& observed) {
  if (page.asks_if_served) return kube::ResourceListRequest(ResourceOf(page.kind, observed.facts));
  kube::ListOptions options = {.ns = page.ns,
                               .continue_token = page.continue_token,
                               .limit = page.by_label && !page.is_paged
                                            ? 0
                                            : std::min(PageSizeOf(page.kind), page.limit.objects()),
                               .bytes_max = page.limit.bytes_max(),
                               .metadata_only = page.kind == Kind::kComputeDomain};
  if (page.by_label) options.label_selector = std::string(api::kDomainLabel) + "=" + observed.uid;
  return kube::ListRequest(ResourceOf(page.kind, observed.facts), options);
}

// Return the first pages that the action reads.
std::vector<Page> FirstPages(const ReadOwner& /*read*/, const Observed& /*observed*/) {
  return {{.kind = Kind::kComputeDomain, .by_label = false}};  // The UID finds it.
}

std::vector<Page> FirstPages(const ReadChildren& read, const Observed& observed) {
  std::vector<Page> pages = {{.kind = Kind::kNode}, {.kind = Kind::kClaimTemplate}};
  const std::vector<std::string> driver = NamespacesToRead(observed);
  for (const std::string& ns : driver) {
    for (const Kind kind : {Kind::kDaemonSet, Kind::kDaemonPod, Kind::kClique}) {
      pages.push_back({.kind = kind, .ns = ns});
    }
    if (!observed.facts.views.claims_are_granted) continue;
    const bool daemons_alone = ns != read.workload_namespace;
    pages.push_back({.kind = Kind::kClaim,
                     .ns = ns,
                     .by_label = daemons_alone && observed.memory.claims_are_labelled});
  }
  const bool known = !read.workload_namespace.empty() && observed.facts.views.claims_are_granted &&
                     !base::Contains(driver, read.workload_namespace);
  // A user may have written claims of the workload by hand, without the label.
  if (known) {
    pages.push_back({.kind = Kind::kClaim, .ns = read.workload_namespace, .by_label = false});
  }
  return pages;
}

// While cliques are not served there are none. The reflector asks for them every few seconds.
std::vector<Page> FirstPages(const ReadDaemons& /*read*/, const Observed& observed) {
  std::vector<Page> pages;
  for (const std::string& ns : NamespacesToRead(observed)) {
    pages.push_back({.kind = Kind::kDaemonPod, .ns = ns});
    if (!observed.facts.views.cliques_are_served) continue;
    pages.push_back({.kind = Kind::kClique, .ns = ns});
  }
  return pages;
}

std::vector<Page> FirstPages(const ReadClaims& read, const Observed& /*observed*/) {
  return {{.kind = Kind::kClaim, .ns = read.ns, .by_label = false}};
}

template <typename Read>
Requests PagesOf(const Read& action, const Observed& observed, const ActionProgress& read) {
  Requests requests;
  for (const Page& page : read.pages.empty() ? FirstPages(action, observed) : read.pages) {
    requests.push_back(PageRequest(page, observed));
  }
  return requests;
}

// Keeps the object only if it has the domain's label: passes of other domains may share the reply.
template <typename T>
Result<void> AddLabelled(Result<T> object, const kube::Uid& uid, std::vector<T>& to) {
  if (!object) return tl::unexpected(object.error());
  if (object->domain == uid) to.push_back(*std::move(object));
  return {};
}

// Adds one item of a live list to `read`, if it belongs to the domain.
Result<void> AddItem(Kind kind, json::View item, const kube::Uid& uid, ActionProgress& read) {
  Children& found = read.found;
  switch (kind) {
    case Kind::kNode:
      return AddLabelled(api::DecodeNode(item), uid, found.labelled_nodes);
    case Kind::kClaimTemplate:
      return AddLabelled(api::DecodeResourceClaimTemplate(item), uid, found.templates);
    case Kind::kDaemonSet:
      return AddLabelled(api::DecodeDaemonSet(item), uid, found.daemon_sets);
    case Kind::kDaemonPod: {
      auto pod = api::DecodeDaemonPod(item);
      if (pod && !RunsDaemon(*pod)) return {};
      return AddLabelled(std::move(pod), uid, found.daemon_pods);
    }
    case Kind::kClique:
      return AddLabelled(api::DecodeClique(item), uid, found.cliques);
    case Kind::kClaim: {
      api::ResourceClaim claim = TRY(api::DecodeResourceClaim(item));
      const bool names_it = claim.channel_domain == uid || claim.daemon_domain == uid;
      if (names_it) found.claims.push_back(std::move(claim));
      break;
    }
    case Kind::kComputeDomain: {
      kube::ObjectMeta meta = TRY(kube::DecodeMeta(item));
      if (meta.uid == uid) read.owner = std::move(meta);
      break;
    }
    case Kind::kResourceSlice:
      break;  // No domain owns one.
  }
  return {};
}

Result<void> TakePage(Page page, std::string_view body, const Observed& observed,
                      ActionProgress& read) {
  kube::ListPage list = TRY(kube::ReadListPage(body));
  TRY(CheckList(page.kind, list, page.kind == Kind::kComputeDomain));
  if (!list.continue_token.empty() && list.continue_token == page.continue_token) {
    return base::Unavailable("a page of a list leads to itself");
  }
  json::Parser parser;
  for (const std::string_view item : list.items) {
    const json::View object = TRY(json::ParseRepaired(parser, item));
    TRY(AddItem(page.kind, object, observed.uid, read));
  }
  page.limit.OnPage(body.size());
  page.continue_token = std::move(list.continue_token);
  if (!page.continue_token.empty()) read.pages.push_back(std::move(page));
  return {};
}

// Returns whether `page` asked which kinds the API server serves, and the kind is not one of them,
// so it has no objects.
Result<bool> HasNoObjects(const Page& page, const Reply& reply) {
  if (!page.asks_if_served) return false;
  if (!reply) return tl::unexpected(reply.error());
  const std::string& plural = ResourceOf(page.kind).plural;
  if (!TRY(kube::ListsResource(reply->body, plural))) return true;
  return base::Unavailable("the API server serves " + plural + ", but a list of them is a 404");
}

// Returns whether no version of resource.k8s.io has the kind. If one had it before, a 404 only
// means that the version has changed.
bool IsDraOff(Kind kind, const Facts& facts) {
  const std::string* version = DraVersion(kind, facts);
  return version != nullptr && version->empty();
}

// Returns whether these were the last pages. If not, the action continues with the next pages.
// With `may_lack_dra`, DRA kinds have no objects if DRA is off.
template <typename Read>
Result<bool> TakePages(const Read& action, const Replies& replies, ReplyContext& to,
                       bool may_lack_dra = false) {
  ActionProgress& read = to.progress;
  std::vector<Page> pages = std::exchange(read.pages, {});
  if (pages.empty()) pages = FirstPages(action, to.observed);
  CHECK(pages.size() == replies.size());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    Page& page = pages[i];
    const Reply& reply = replies[i];
    if (TRY(HasNoObjects(page, reply))) {
      read.cliques_are_served = read.cliques_are_served && page.kind != Kind::kClique;
      continue;
    }
    const bool is_missing = !reply && reply.error().code == base::ErrorCode::kNotFound;
    if (is_missing && may_lack_dra && IsDraOff(page.kind, to.observed.facts)) continue;
    // A 404 alone proves nothing: the CRD was deleted, or a proxy sent it.
    const bool may_be_unserved = is_missing && DraVersion(page.kind, to.observed.facts) == nullptr;
    const bool is_too_large = !reply && reply.error().code == base::ErrorCode::kTooLarge;
    const bool is_first = is_too_large && page.by_label && !std::exchange(page.is_paged, true);
    if (may_be_unserved) page.asks_if_served = true;
    if (may_be_unserved || is_first || (is_too_large && page.limit.Shrink())) {
      read.pages.push_back(std::move(page));
      continue;
    }
    // What does not answer holds up the domains that have something there.
    const bool is_silent = !reply && (reply.error().code == base::ErrorCode::kUnavailable ||
                                      reply.error().code == base::ErrorCode::kDeadlineExceeded);
    if (is_silent && IsElsewhere(to.observed, page.ns)) continue;
    if (!reply) return tl::unexpected(reply.error());
    TRY(TakePage(std::move(page), reply->body, to.observed, read));
  }
  to.result.goes_on = !read.pages.empty();
  to.result.decide_again = !to.result.goes_on;
  return to.result.decide_again;
}

// Adds the cliques that the cache shows under the domain's name, and whose label a user changed or
// removed: a list by label leaves them out.
void AddUnlabelled(const Observed& observed, std::vector<api::Clique>& cliques) {
  for (const api::Clique& clique : observed.children.cliques) {
    const bool is_read = std::ranges::any_of(
        cliques, [&](const api::Clique& read) { return read.meta.key == clique.meta.key; });
    if (!clique.is_labelled && !is_read) cliques.push_back(clique);
  }
}

// Returns whether the cache of cliques is known to be behind: its watch is broken while reads
// succeed, or the write of a clique was a conflict. Otherwise the cached ones are used: cliques
// must not be newer than the labels and claims that say why a member leaves.
bool AreCliquesBehind(const Observed& observed) {
  const std::map<Kind, std::string>& problems = observed.facts.views.problems;
  return observed.facts.views.IsUnknown(Kind::kClique) || problems.contains(Kind::kDaemonPod) ||
         problems.contains(Kind::kClique) ||
         std::ranges::any_of(observed.memory.retries, [](const auto& one) {
           return one.second.concern == Concern::kMembership && one.second.is_conflict;
         });
}

}  // namespace

Requests RequestsOf(const ReadOwner& action, const Observed& observed, const ActionProgress& read) {
  if (action.key) return {kube::GetRequest(api::kComputeDomains, *action.key)};
  return PagesOf(action, observed, read);
}

Result<void> HandleReplies(const ReadOwner& action, const Replies& replies, ReplyContext& to) {
  if (!action.key) {
    if (!TRY(TakePages(action, replies, to))) return {};
    to.result.findings.emplace_back(OwnerFound{std::move(to.progress.owner)});
    return {};
  }
  const Reply& reply = replies.front();
  to.result.decide_again = true;
  if (!reply && kube::ProvesAbsence(reply.error(), api::kComputeDomains, action.key->name)) {
    to.result.findings.emplace_back(OwnerFound());
    return {};
  }
  if (!reply) return tl::unexpected(reply.error());
  kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
  OwnerFound found;
  if (meta.uid == to.observed.uid) found.owner = std::move(meta);
  if (found.owner && found.owner->deleting) to.result.memory.emplace_back(DeletionProven());
  to.result.findings.emplace_back(std::move(found));
  return {};
}

Requests RequestsOf(const ReadChildren& action, const Observed& observed,
                    const ActionProgress& read) {
  return PagesOf(action, observed, read);
}

Result<void> HandleReplies(const ReadChildren& action, const Replies& replies, ReplyContext& to) {
  if (!TRY(TakePages(action, replies, to, true))) return {};
  if (to.progress.cliques_are_served) AddUnlabelled(to.observed, to.progress.found.cliques);
  to.result.findings.emplace_back(ChildrenFound{std::move(to.progress.found)});
  return {};
}

Requests RequestsOf(const ReadDaemons& action, const Observed& observed,
                    const ActionProgress& read) {
  return PagesOf(action, observed, read);
}

Result<void> HandleReplies(const ReadDaemons& action, const Replies& replies, ReplyContext& to) {
  if (!TRY(TakePages(action, replies, to))) return {};
  if (to.progress.cliques_are_served) AddUnlabelled(to.observed, to.progress.found.cliques);
  const bool is_newer = AreCliquesBehind(to.observed);
  if (is_newer) {
    // A watch that opens again shows all that was so meanwhile. Status must not follow it back. A
    // cache that was never read shows nothing for as long as it would be waited for.
    const bool is_shown = !to.observed.facts.views.IsUnknown(Kind::kClique);
    for (const api::Clique& clique : to.progress.found.cliques) {
      if (is_shown) Expect(to.result, Kind::kClique, clique.meta.key, clique.meta.resource_version);
    }
  }
  to.result.findings.emplace_back(
      DaemonsFound{.daemon_pods = std::move(to.progress.found.daemon_pods),
                   .cliques = std::move(to.progress.found.cliques),
                   .is_newer = is_newer});
  return {};
}

Requests RequestsOf(const ReadClaims& action, const Observed& observed,
                    const ActionProgress& read) {
  return PagesOf(action, observed, read);
}

Result<void> HandleReplies(const ReadClaims& action, const Replies& replies, ReplyContext& to) {
  if (!TRY(TakePages(action, replies, to))) return {};
  to.result.memory.emplace_back(
      ClaimsRead{.nodes_in_use = NodesInUse(to.observed, to.progress.found.claims)});
  to.result.findings.emplace_back(ClaimsFound{std::move(to.progress.found.claims)});
  return {};
}

// Uses LIST, because cdom has that permission. Only a list without the node proves its deletion.
// The whole Node is read, for its condition Ready.
Requests RequestsOf(const ReadNodes& action, const Observed& /*observed*/,
                    const ActionProgress& /*read*/) {
  Requests requests;
  for (const std::string& name : action.names) {
    requests.push_back(
        kube::ListRequest(kube::kNodes, {.field_selector = "metadata.name=" + name}));
  }
  return requests;
}

Result<void> HandleReplies(const ReadNodes& action, const Replies& replies, ReplyContext& to) {
  to.result.decide_again = true;
  for (std::size_t i = 0; i < action.names.size(); ++i) {
    if (!replies[i]) return tl::unexpected(replies[i].error());
    const kube::ListPage list = TRY(kube::ReadListPage(replies[i]->body));
    TRY(CheckList(Kind::kNode, list, false));
    NodeSeen seen = NodeSeen::kMissing;
    if (!list.items.empty()) {
      json::Parser parser;
      const json::View object = TRY(json::ParseRepaired(parser, list.items.front()));
      const api::Node node = TRY(api::DecodeNode(object));
      seen = node.ready ? NodeSeen::kReady : NodeSeen::kNotReady;
    }
    to.result.findings.emplace_back(NodeFound{.name = action.names[i], .seen = seen});
  }
  return {};
}

Requests RequestsOf(const ReadDaemonSetEvents& action, const Observed& /*observed*/,
                    const ActionProgress& /*read*/) {
  // Kubernetes writes at most 25 Events about one object in a burst, and few more until they
  // expire.
  constexpr int kEventsMax = 100;
  return {kube::ListRequest(kube::kEvents, {.ns = action.daemon_set.ns,
                                            .field_selector = "regarding.uid=" + action.uid,
                                            .limit = kEventsMax,
                                            .bytes_max = 1U << 20})};
}

// Without the Events only an explanation is missing.
Result<void> HandleReplies(const ReadDaemonSetEvents& action, const Replies& replies,
                           ReplyContext& to) {
  const Reply& reply = replies.front();
  if (!reply && kube::IsMissingPermission(reply.error())) {
    to.result.missing_permission = {.verb = "list", .resource = kube::kEvents.plural};
  }
  CreationTroubleRead read;
  if (reply) read.trouble = api::DecodeCreationTrouble(reply->body, action.daemon_set.name);
  to.result.memory.emplace_back(std::move(read));
  return {};
}

Requests RequestsOf(const ReadTaken& action, const Observed& observed,
                    const ActionProgress& /*read*/) {
  return {kube::GetRequest(ResourceOf(action.kind, observed.facts), action.key)};
}

Result<void> HandleReplies(const ReadTaken& action, const Replies& replies, ReplyContext& to) {
  const Reply& reply = replies.front();
  const auto is = [&](NameCheck check) {
    to.result.findings.emplace_back(
        NameFound{.kind = action.kind, .key = action.key, .check = std::move(check)});
  };
  to.result.decide_again = true;
  if (!reply && kube::ProvesAbsence(reply.error(), ResourceOf(action.kind), action.key.name)) {
    is({NameCheck::Is::kFree});
    return {};
  }
  if (!reply) return tl::unexpected(reply.error());
  is(Found(TRY(DecodeHolder(reply->body))));
  return {};
}

}  // namespace compute_domain
