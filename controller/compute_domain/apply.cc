#include "controller/compute_domain/apply.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/ownership.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

namespace {

using base::ErrorCode;
using base::Result;
using http::Request;
using http::Response;
using json::Value;
using Replies = std::vector<Result<Response>>;

template <typename... Arms>
struct Overload : Arms... {
  using Arms::operator()...;
};

// Locks the object: the server refuses the patch if it is another incarnation or version.
Value LockedMeta(const kube::ObjectMeta& meta) {
  return Value::Object({{"uid", meta.uid}, {"resourceVersion", meta.resource_version}});
}

// A label or annotation as a JSON pointer, where '/' in a key is "~1".
std::string PathOf(const char* kind, std::string_view key) {
  std::string escaped(key);
  escaped.replace(escaped.find('/'), 1, "~1");
  return std::string("/metadata/") + kind + "/" + escaped;
}

Value PatchOf(const char* verb, std::string path, Value value) {
  return Value::Object({{"op", verb}, {"path", std::move(path)}, {"value", std::move(value)}});
}

// nullptr for a kind whose version never changes.
const std::string* DraVersion(Kind kind, const Facts& facts) {
  if (kind == Kind::kClaimTemplate) return &facts.template_version;
  return kind == Kind::kClaim ? &facts.claim_version : nullptr;
}

// A page is about 1 MB: a Node, Pod or DaemonSet has up to 10 KB, the others 2.5 KB. A pass reads
// several collections side by side.
int PageSizeOf(Kind kind) {
  const bool is_large = kind == Kind::kNode || kind == Kind::kDaemonPod || kind == Kind::kDaemonSet;
  return is_large ? 100 : 400;
}

Request PageRequest(const Page& page, const Observed& observed) {
  kube::ListOptions options = {.ns = page.ns,
                               .continue_token = page.continue_token,
                               .limit = PageSizeOf(page.kind),
                               .metadata_only = page.kind == Kind::kComputeDomain};
  // Domains are found by their UID, and claims carry no label of ours: all of them are read.
  if (page.kind != Kind::kComputeDomain && page.kind != Kind::kClaim) {
    options.label_selector = std::string(api::kDomainLabel) + "=" + observed.uid;
  }
  return kube::ListRequest(ResourceOf(page.kind, observed.facts), options);
}

// The first pages of what each action reads.
std::vector<Page> FirstPages(const ReadOwner& /*read*/, const Observed& /*observed*/) {
  return {{.kind = Kind::kComputeDomain}};
}

std::vector<Page> FirstPages(const ReadChildren& read, const Observed& observed) {
  std::vector<Page> pages = {{.kind = Kind::kNode}, {.kind = Kind::kClaimTemplate}};
  const auto& driver = observed.facts.driver_namespaces;
  for (const std::string& ns : driver) {
    for (const Kind kind : {Kind::kDaemonSet, Kind::kDaemonPod, Kind::kClique, Kind::kClaim}) {
      pages.push_back({.kind = kind, .ns = ns});
    }
  }
  const bool known = !read.workload_namespace.empty() &&
                     std::ranges::find(driver, read.workload_namespace) == driver.end();
  if (known) pages.push_back({.kind = Kind::kClaim, .ns = read.workload_namespace});
  return pages;
}

std::vector<Page> FirstPages(const ReadDaemonPods& /*read*/, const Observed& observed) {
  std::vector<Page> pages;
  pages.reserve(observed.facts.driver_namespaces.size());
  for (const std::string& ns : observed.facts.driver_namespaces) {
    pages.push_back({.kind = Kind::kDaemonPod, .ns = ns});
  }
  return pages;
}

std::vector<Page> FirstPages(const ReadClaims& read, const Observed& /*observed*/) {
  return {{.kind = Kind::kClaim, .ns = read.ns}};
}

// Puts one item of a live list into `read`, if it belongs to the domain.
Result<void> AddItem(Kind kind, json::View item, const std::string& uid, LiveRead& read) {
  Children& found = read.found;
  switch (kind) {
    case Kind::kNode:
      found.labelled_nodes.push_back(TRY(api::DecodeNode(item)));
      break;
    case Kind::kClaimTemplate:
      found.templates.push_back(TRY(api::DecodeClaimTemplate(item)));
      break;
    case Kind::kDaemonSet:
      found.daemon_sets.push_back(TRY(api::DecodeDaemonSet(item)));
      break;
    case Kind::kDaemonPod: {
      api::DaemonPod pod = TRY(api::DecodeDaemonPod(item));
      if (IsDaemonPod(pod)) found.daemon_pods.push_back(std::move(pod));
      break;
    }
    case Kind::kClique:
      found.cliques.push_back(TRY(api::DecodeClique(item)));
      break;
    case Kind::kClaim: {
      api::Claim claim = TRY(api::DecodeClaim(item));
      const bool names_it = claim.channel_domain == uid || claim.daemon_domain == uid;
      if (names_it) found.claims.push_back(std::move(claim));
      break;
    }
    case Kind::kComputeDomain: {
      kube::ObjectMeta meta = TRY(kube::DecodeMeta(item));
      if (meta.uid == uid) read.owner = std::move(meta);
      break;
    }
  }
  return {};
}

Result<Evidence::Taken> DecodeTaken(const std::string& body) {
  json::Parser parser;
  const json::View object = TRY(parser.Parse(body));
  const api::ClaimTemplate decoded =
      TRY(api::DecodeClaimTemplate(object));  // Labels, as a DaemonSet has.
  return Evidence::Taken{decoded.meta, decoded.domain, decoded.target, decoded.template_hash};
}

Result<kube::ObjectMeta> DecodeMetaOf(const std::string& body) {
  json::Parser parser;
  const json::View object = TRY(parser.Parse(body));
  return kube::DecodeMeta(object);
}

// What each action's replies mean. Every arm returns the first error, if there was one.
class Taker {
 public:
  Taker(const Replies& replies, Observed& observed, LiveRead& read, ActionResult& result)
      : replies_(replies), observed_(observed), read_(read), result_(result) {}

  [[nodiscard]] Result<void> operator()(const Create& create) {
    const Result<Response> reply = replies_.front();
    auto& taken = observed_.evidence.taken[{create.kind, create.key}];
    if (!reply && reply.error().code == ErrorCode::kAlreadyExists) {
      taken = std::nullopt;  // Whatever was read before.
      result_.decide_again = create.kind != Kind::kClique;
      return {};
    }
    if (!reply) {
      observed_.evidence.taken.erase({create.kind, create.key});
      return tl::unexpected(reply.error());
    }
    const Evidence::Taken made = TRY(DecodeTaken(reply->body));
    taken.emplace(made);
    Expect(create.kind, create.key, made.meta.resource_version);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const Delete& remove) {
    const Result<Response>& reply = replies_.front();
    // Gone, or another incarnation: means nothing; only a fresh read decides (R5).
    const bool tolerated = !reply && (reply.error().code == ErrorCode::kNotFound ||
                                      reply.error().code == ErrorCode::kConflict);
    if (!reply && !tolerated) return tl::unexpected(reply.error());
    result_.expectations.push_back({.kind = remove.kind, .key = remove.key, .gone = remove.uid});
    return {};
  }

  [[nodiscard]] Result<void> operator()(const WriteFinalizers& write) {
    const Result<Response>& reply = replies_.front();
    // Gone, so nothing holds it. A finalizer that should have been added is another matter: what
    // was to follow it must not.
    const bool adds =
        std::ranges::find(write.finalizers, api::kFinalizer) != write.finalizers.end();
    if (!reply && reply.error().code == ErrorCode::kNotFound && !adds) return {};
    if (!reply) return tl::unexpected(reply.error());
    const kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
    if (write.kind == Kind::kComputeDomain && observed_.domain) observed_.domain->meta = meta;
    Expect(write.kind, write.object.key, meta.resource_version);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const WriteClique& write) {
    const Result<Response>& reply = replies_.front();
    // Gone: made anew once the cache shows it.
    if (!reply && reply.error().code == ErrorCode::kNotFound) return {};
    if (!reply) return tl::unexpected(reply.error());
    const kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
    for (api::Clique& clique : observed_.children.cliques) {
      if (clique.meta.uid != meta.uid) continue;
      clique.meta = meta;
      clique.daemons = write.daemons;
      clique.held = write.held;
    }
    Expect(Kind::kClique, write.clique.key, meta.resource_version);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const WritePodTemplate& write) {
    return TakeChild(Kind::kDaemonSet, write.daemon_set.key);
  }

  [[nodiscard]] Result<void> operator()(const WriteIdentity& write) {
    return TakeChild(write.kind, write.object.key);
  }

  [[nodiscard]] Result<void> operator()(const RemoveNodeLabel& remove) {
    const Result<Response>& reply = replies_.front();
    // The test of the patch failed: the label is gone or another domain's. Or the node is gone.
    const bool tolerated = !reply && (reply.error().code == ErrorCode::kInvalid ||
                                      reply.error().code == ErrorCode::kNotFound);
    if (tolerated) return {};
    if (!reply) return tl::unexpected(reply.error());
    const kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
    Expect(Kind::kNode, {.name = remove.node}, meta.resource_version);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const WriteStatus& write) {
    const Result<Response>& reply = replies_.front();
    if (!reply) return tl::unexpected(reply.error());
    json::Parser parser;
    const json::View object = TRY(parser.Parse(reply->body));
    const api::ComputeDomain written = TRY(api::DecodeComputeDomain(object));
    // Judged only here: the CRD drops fields that it does not know.
    const bool pruned = !write.status.conditions.empty() && written.status.conditions.empty();
    if (pruned) observed_.facts.status_is_pruned = true;
    Expect(Kind::kComputeDomain, write.domain.key, written.meta.resource_version);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadOwner& read) {
    if (!read.key) {
      if (!TRY(TakePages(read))) return {};
      observed_.evidence.owner.emplace(std::move(read_.owner));
      return {};
    }
    const Result<Response>& reply = replies_.front();
    result_.decide_again = true;
    if (!reply && reply.error().code == ErrorCode::kNotFound) {
      observed_.evidence.owner.emplace(std::nullopt);
      return {};
    }
    if (!reply) return tl::unexpected(reply.error());
    observed_.evidence.owner.emplace(TRY(OwnerOf(reply->body)));
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadChildren& read) {
    // A kind that is not served has no objects: DRA may be switched off. But of a kind that was
    // served a moment ago a 404 says only that its version is another one by now.
    const auto may_lack = [&](Kind kind) {
      const std::string* version = DraVersion(kind, observed_.facts);
      return version == nullptr || version->empty();
    };
    if (!TRY(TakePages(read, may_lack))) return {};
    for (const api::Node& node : read_.found.labelled_nodes) {
      observed_.nodes.insert_or_assign(node.meta.key.name, node);
    }
    observed_.evidence.children = std::move(read_.found);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadDaemonPods& read) {
    if (!TRY(TakePages(read))) return {};
    observed_.evidence.daemon_pods = std::move(read_.found.daemon_pods);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadClaims& read) {
    if (!TRY(TakePages(read))) return {};
    observed_.evidence.claims = std::move(read_.found.claims);
    return {};
  }

  // They only explain: a pod that cannot be read says nothing, and nothing else fails for it.
  [[nodiscard]] Result<void> operator()(const ReadPods& read) {
    std::map<std::string, std::string> words;
    for (std::size_t i = 0; i < read.names.size(); ++i) {
      words[read.names[i]] = replies_[i] ? api::DecodeWaitingWords(replies_[i]->body) : "";
    }
    observed_.words = words;
    observed_.evidence.words = std::move(words);
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadTaken& read) {
    const Result<Response>& reply = replies_.front();
    auto& taken = observed_.evidence.taken[{read.kind, read.key}];
    result_.decide_again = true;
    if (!reply && reply.error().code == ErrorCode::kNotFound) {
      taken.emplace(std::nullopt);
      return {};
    }
    if (!reply) return tl::unexpected(reply.error());
    taken.emplace(TRY(DecodeTaken(reply->body)));
    return {};
  }

 private:
  void Expect(Kind kind, const kube::ObjectKey& key, std::string resource_version) {
    result_.expectations.push_back(
        {.kind = kind, .key = key, .resource_version = std::move(resource_version)});
  }

  // A child was changed; what was read of it before is out of date.
  [[nodiscard]] Result<void> TakeChild(Kind kind, const kube::ObjectKey& key) {
    const Result<Response>& reply = replies_.front();
    // Gone: made anew once the cache shows it.
    if (!reply && reply.error().code == ErrorCode::kNotFound) return {};
    if (!reply) return tl::unexpected(reply.error());
    const Evidence::Taken written = TRY(DecodeTaken(reply->body));
    const auto read = observed_.evidence.taken.find({kind, key});
    if (read != observed_.evidence.taken.end()) read->second.emplace(written);
    Expect(kind, key, written.meta.resource_version);
    return {};
  }

  // The ComputeDomain, if it is the incarnation that this is about.
  [[nodiscard]] Result<std::optional<kube::ObjectMeta>> OwnerOf(const std::string& body) const {
    kube::ObjectMeta meta = TRY(DecodeMetaOf(body));
    if (meta.uid != observed_.uid) return std::optional<kube::ObjectMeta>();
    return std::optional(std::move(meta));
  }

  static bool LacksNone(Kind /*kind*/) { return false; }

  // Whether they were the last; if not, the action goes on with those that follow. `may_lack`: of
  // which kinds a 404 means that there are none.
  template <typename Read, typename MayLack = bool (*)(Kind)>
  [[nodiscard]] Result<bool> TakePages(const Read& read, const MayLack& may_lack = LacksNone) {
    std::vector<Page> pages = std::exchange(read_.pages, {});
    if (pages.empty()) pages = FirstPages(read, observed_);
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const Result<Response>& reply = replies_[i];
      const bool is_missing = !reply && reply.error().code == ErrorCode::kNotFound;
      if (is_missing && may_lack(pages[i].kind)) continue;
      if (!reply) return tl::unexpected(reply.error());
      TRY(TakePage(std::move(pages[i]), reply->body));
    }
    result_.goes_on = !read_.pages.empty();
    result_.decide_again = !result_.goes_on;
    return result_.decide_again;
  }

  [[nodiscard]] Result<void> TakePage(Page page, std::string_view body) {
    kube::ListPage list = TRY(kube::ReadListPage(body));
    // What is not the list proves nothing.
    const bool is_it =
        list.kind == ResourceOf(page.kind).kind + "List" ||
        (page.kind == Kind::kComputeDomain && list.kind == "PartialObjectMetadataList");
    if (!is_it) {
      return base::Fail(ErrorCode::kUnavailable, "a list came as \"" + list.kind + "\"");
    }
    if (!list.continue_token.empty() && list.continue_token == page.continue_token) {
      return base::Fail(ErrorCode::kUnavailable, "a page of a list leads to itself");
    }
    json::Parser parser;
    for (const std::string_view item : list.items) {
      const json::View object = TRY(parser.Parse(item));
      TRY(AddItem(page.kind, object, observed_.uid, read_));
    }
    page.continue_token = std::move(list.continue_token);
    if (!page.continue_token.empty()) read_.pages.push_back(std::move(page));
    return {};
  }

  const Replies& replies_;
  Observed& observed_;
  LiveRead& read_;
  ActionResult& result_;
};

// What each action asks of the API server.
class Asker {
 public:
  using Requests = std::vector<Request>;

  Asker(const Observed& observed, const LiveRead& read) : observed_(observed), read_(read) {}

  [[nodiscard]] Requests operator()(const Create& create) const {
    return {kube::CreateRequest(Served(create.kind), create.key.ns, create.object)};
  }

  [[nodiscard]] Requests operator()(const Delete& remove) const {
    return {kube::DeleteRequest(Served(remove.kind), remove.key, remove.uid,
                                kube::Propagation::kBackground)};
  }

  [[nodiscard]] Requests operator()(const WriteFinalizers& write) const {
    Value meta = LockedMeta(write.object);
    for (const std::string& name : write.finalizers) meta["finalizers"].Append(name);
    if (write.finalizers.empty()) meta["finalizers"] = Value();
    return {kube::MergePatchRequest(Served(write.kind), write.object.key,
                                    Value::Object({{"metadata", std::move(meta)}}))};
  }

  [[nodiscard]] Requests operator()(const WriteClique& write) const {
    Value patch = Value::Object({{"daemons", api::EncodeDaemons(write.daemons)}});
    Value& meta = patch["metadata"] = LockedMeta(write.clique);
    meta["annotations"][api::kHeldIndicesAnnotation] = api::EncodeHeld(write.held);
    if (!write.owners.IsNull()) meta["ownerReferences"] = write.owners;
    return {kube::MergePatchRequest(api::kComputeDomainCliques, write.clique.key, patch)};
  }

  [[nodiscard]] Requests operator()(const WritePodTemplate& write) const {
    const kube::ObjectMeta& meta = write.daemon_set;
    // The server takes a resourceVersion that is not the object's for a conflict.
    return {kube::JsonPatchRequest(
        kube::kDaemonSets, meta.key,
        Value::Array(
            {PatchOf("replace", "/metadata/resourceVersion", meta.resource_version),
             PatchOf("replace", "/spec/template", write.pod_template),
             PatchOf("replace", "/spec/updateStrategy", Value::Object({{"type", "OnDelete"}})),
             PatchOf("add", PathOf("annotations", api::kTemplateHashAnnotation), write.stamp)}))};
  }

  [[nodiscard]] Requests operator()(const WriteIdentity& write) const {
    Value meta = LockedMeta(write.object);
    meta["labels"] = write.labels;
    if (!write.owners.IsNull()) meta["ownerReferences"] = write.owners;
    return {kube::MergePatchRequest(Served(write.kind), write.object.key,
                                    Value::Object({{"metadata", std::move(meta)}}))};
  }

  [[nodiscard]] Requests operator()(const RemoveNodeLabel& remove) const {
    const std::string path = PathOf("labels", api::kDomainLabel);
    return {
        kube::JsonPatchRequest(kube::kNodes, {.name = remove.node},
                               Value::Array({PatchOf("test", path, remove.domain),
                                             Value::Object({{"op", "remove"}, {"path", path}})}))};
  }

  [[nodiscard]] Requests operator()(const WriteStatus& write) const {
    return {kube::MergePatchRequest(
        api::kComputeDomains, write.domain.key,
        Value::Object({{"metadata", LockedMeta(write.domain)}, {"status", Encode(write.status)}}),
        "status")};
  }

  [[nodiscard]] Requests operator()(const ReadOwner& read) const {
    if (read.key) return {kube::GetRequest(api::kComputeDomains, *read.key)};
    return PagesOf(read);
  }

  [[nodiscard]] Requests operator()(const ReadChildren& read) const { return PagesOf(read); }
  [[nodiscard]] Requests operator()(const ReadDaemonPods& read) const { return PagesOf(read); }
  [[nodiscard]] Requests operator()(const ReadClaims& read) const { return PagesOf(read); }

  [[nodiscard]] Requests operator()(const ReadPods& read) const {
    Requests requests;
    for (const std::string& name : read.names) {
      requests.push_back(kube::GetRequest(kube::kPods, {.ns = read.ns, .name = name}));
    }
    return requests;
  }

  [[nodiscard]] Requests operator()(const ReadTaken& read) const {
    return {kube::GetRequest(Served(read.kind), read.key)};
  }

 private:
  [[nodiscard]] kube::Resource Served(Kind kind) const { return ResourceOf(kind, observed_.facts); }

  template <typename Read>
  [[nodiscard]] Requests PagesOf(const Read& read) const {
    Requests requests;
    for (const Page& page : read_.pages.empty() ? FirstPages(read, observed_) : read_.pages) {
      requests.push_back(PageRequest(page, observed_));
    }
    return requests;
  }

  const Observed& observed_;
  const LiveRead& read_;
};

}  // namespace

const kube::Resource& ResourceOf(Kind kind) {
  switch (kind) {
    case Kind::kComputeDomain:
      return api::kComputeDomains;
    case Kind::kDaemonSet:
      return kube::kDaemonSets;
    case Kind::kClaimTemplate:
      return kube::kResourceClaimTemplates;
    case Kind::kClique:
      return api::kComputeDomainCliques;
    case Kind::kDaemonPod:
      return kube::kPods;
    case Kind::kClaim:
      return kube::kResourceClaims;
    case Kind::kNode:
      return kube::kNodes;
  }
  return kube::kNodes;
}

kube::Resource ResourceOf(Kind kind, const Facts& facts) {
  kube::Resource resource = ResourceOf(kind);
  const std::string* version = DraVersion(kind, facts);
  if (version != nullptr && !version->empty()) resource.version = *version;
  return resource;
}

std::vector<Request> RequestsOf(const Action& action, const Observed& observed,
                                const LiveRead& read) {
  return std::visit(Asker(observed, read), action);
}

std::string Describe(const Action& action) {
  const auto of = [](const char* verb, Kind kind, const kube::ObjectKey& key) {
    return verb + (" " + ResourceOf(kind).kind) + " " + kube::ToString(key);
  };
  return std::visit(
      Overload{
          [&](const Create& create) { return of("create", create.kind, create.key); },
          [&](const Delete& remove) { return of("delete", remove.kind, remove.key); },
          [&](const WriteFinalizers& write) {
            return of("patch finalizers of", write.kind, write.object.key);
          },
          [&](const WriteClique& write) { return of("patch", Kind::kClique, write.clique.key); },
          [&](const WritePodTemplate& write) {
            return of("replace the pod template of", Kind::kDaemonSet, write.daemon_set.key);
          },
          [&](const WriteIdentity& write) {
            return of("patch labels of", write.kind, write.object.key);
          },
          [&](const RemoveNodeLabel& remove) {
            return of("remove the domain label of", Kind::kNode, {.name = remove.node});
          },
          [&](const WriteStatus& write) {
            return of("patch status of", Kind::kComputeDomain, write.domain.key);
          },
          [&](const ReadOwner& read) {
            return read.key ? of("get", Kind::kComputeDomain, *read.key)
                            : std::string("list ComputeDomains");
          },
          [](const ReadChildren&) { return std::string("list what the domain left"); },
          [](const ReadDaemonPods&) { return std::string("list daemon pods"); },
          [](const ReadPods& read) { return "get waiting Pods of " + read.ns; },
          [](const ReadClaims& read) { return "list ResourceClaims of " + read.ns; },
          [&](const ReadTaken& read) { return of("get", read.kind, read.key); }},
      action);
}

bool IsWrite(const Action& action) {
  return !std::holds_alternative<ReadOwner>(action) &&
         !std::holds_alternative<ReadChildren>(action) &&
         !std::holds_alternative<ReadDaemonPods>(action) &&
         !std::holds_alternative<ReadClaims>(action) && !std::holds_alternative<ReadPods>(action) &&
         !std::holds_alternative<ReadTaken>(action);
}

ActionResult TakeReplies(const Action& action, const Replies& replies, Observed& observed,
                         LiveRead& read) {
  ActionResult result;
  const Result<void> taken = std::visit(Taker(replies, observed, read, result), action);
  if (!taken) {
    result = {};
    result.error = base::While(Describe(action))(taken.error());
  }
  return result;
}

std::optional<Failure> FailureOf(const base::Error& error) {
  switch (error.code) {
    case ErrorCode::kForbidden:
      return Failure{.reason = std::string(api::kReasonForbidden),
                     .message = error.message +
                                ". Grant the controller this right (manifests/standalone holds all "
                                "that it needs), or lift what forbids it; it goes on by itself."};
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kNotFound:
      return Failure{.reason = std::string(api::kReasonProvisioningFailed),
                     .message = error.message};
    default:
      return {};
  }
}

}  // namespace compute_domain
