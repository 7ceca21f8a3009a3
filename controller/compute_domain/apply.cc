#include "controller/compute_domain/apply.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/ownership.h"
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

Request ListLabelled(const kube::Resource& resource, const std::string& ns,
                     const std::string& uid) {
  return kube::ListRequest(
      resource, {.ns = ns, .label_selector = std::string(api::kDomainLabel) + "=" + uid});
}

// Kinds and namespaces in the order in which ReadChildren asks for them.
struct ChildList {
  Kind kind = {};
  std::string ns = {};
};

std::vector<ChildList> ChildLists(const ReadChildren& read, const Observed& observed) {
  std::vector<ChildList> lists = {{Kind::kNode, ""}, {Kind::kClaimTemplate, ""}};
  for (const std::string& ns : observed.facts.driver_namespaces) {
    lists.push_back({Kind::kDaemonSet, ns});
    lists.push_back({Kind::kDaemonPod, ns});
    lists.push_back({Kind::kClique, ns});
    lists.push_back({Kind::kClaim, ns});
  }
  const auto& driver = observed.facts.driver_namespaces;
  const bool known = !read.workload_namespace.empty() &&
                     std::ranges::find(driver, read.workload_namespace) == driver.end();
  if (known) lists.push_back({Kind::kClaim, read.workload_namespace});
  return lists;
}

Request RequestOf(const ChildList& list, const Observed& observed) {
  const kube::Resource resource = ResourceOf(list.kind, observed.facts);
  // Claims carry no label of ours: all of the namespace are read.
  if (list.kind == Kind::kClaim) return kube::ListRequest(resource, {.ns = list.ns});
  return ListLabelled(resource, list.ns, observed.uid);
}

// Adds every item of a list that can be read.
template <typename T>
Result<void> DecodeItems(const std::string& body, Result<T> (*decode)(json::View),
                         std::vector<T>& items) {
  json::Parser parser;
  const json::View list = TRY(parser.Parse(body));
  Result<void> result;
  list["items"].ForEach([&](json::View item) {
    Result<T> decoded = decode(item);
    if (decoded) {
      items.push_back(*std::move(decoded));
    } else {
      result = tl::unexpected(decoded.error());
    }
  });
  return result;
}

Result<void> AddPods(const std::string& body, std::vector<api::DaemonPod>& pods) {
  TRY(DecodeItems(body, api::DecodeDaemonPod, pods));
  std::erase_if(pods, [](const api::DaemonPod& pod) { return !IsDaemonPod(pod); });
  return {};
}

Result<void> AddItems(Kind kind, const std::string& body, const std::string& uid,
                      Children& children) {
  switch (kind) {
    case Kind::kNode:
      return DecodeItems(body, api::DecodeNode, children.labelled_nodes);
    case Kind::kClaimTemplate:
      return DecodeItems(body, api::DecodeClaimTemplate, children.templates);
    case Kind::kDaemonSet:
      return DecodeItems(body, api::DecodeDaemonSet, children.daemon_sets);
    case Kind::kDaemonPod:
      return AddPods(body, children.daemon_pods);
    case Kind::kClique:
      return DecodeItems(body, api::DecodeClique, children.cliques);
    case Kind::kClaim: {
      std::vector<api::Claim> claims;
      TRY(DecodeItems(body, api::DecodeClaim, claims));
      for (api::Claim& claim : claims) {
        const bool names_it = claim.channel_domain == uid || claim.daemon_domain == uid;
        if (names_it) children.claims.push_back(std::move(claim));
      }
      return {};
    }
    case Kind::kComputeDomain:
      break;
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
  Taker(const Replies& replies, Observed& observed, ActionResult& result)
      : replies_(replies), observed_(observed), result_(result) {}

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
    const Result<Response>& reply = replies_.front();
    result_.decide_again = true;
    if (read.key && !reply && reply.error().code == ErrorCode::kNotFound) {
      observed_.evidence.owner.emplace(std::nullopt);
      return {};
    }
    if (!reply) return tl::unexpected(reply.error());
    observed_.evidence.owner.emplace(
        TRY(read.key ? OwnerOf(reply->body) : OwnerAmong(reply->body)));
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadChildren& read) {
    Children children;
    const std::vector<ChildList> lists = ChildLists(read, observed_);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const Result<Response>& reply = replies_[i];
      // A kind that is not served has no objects: DRA may be switched off. But of a kind that was
      // served a moment ago it says only that its version is another one by now.
      const std::string* version = DraVersion(lists[i].kind, observed_.facts);
      const bool has_none = version == nullptr || version->empty();
      if (!reply && reply.error().code == ErrorCode::kNotFound && has_none) continue;
      if (!reply) return tl::unexpected(reply.error());
      TRY(AddItems(lists[i].kind, reply->body, observed_.uid, children));
    }
    for (const api::Node& node : children.labelled_nodes) {
      observed_.nodes.insert_or_assign(node.meta.key.name, node);
    }
    observed_.evidence.children = std::move(children);
    result_.decide_again = true;
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadDaemonPods& /*read*/) {
    std::vector<api::DaemonPod> pods;
    for (const Result<Response>& reply : replies_) {
      if (!reply) return tl::unexpected(reply.error());
      TRY(AddPods(reply->body, pods));
    }
    observed_.evidence.daemon_pods = std::move(pods);
    result_.decide_again = true;
    return {};
  }

  [[nodiscard]] Result<void> operator()(const ReadClaims& /*read*/) {
    const Result<Response>& reply = replies_.front();
    if (!reply) return tl::unexpected(reply.error());
    Children found;
    TRY(AddItems(Kind::kClaim, reply->body, observed_.uid, found));
    observed_.evidence.claims = std::move(found.claims);
    result_.decide_again = true;
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

  [[nodiscard]] Result<std::optional<kube::ObjectMeta>> OwnerAmong(const std::string& body) const {
    json::Parser parser;
    const json::View list = TRY(parser.Parse(body));
    std::optional<kube::ObjectMeta> found;
    Result<void> readable;
    list["items"].ForEach([&](json::View item) {
      Result<kube::ObjectMeta> meta = kube::DecodeMeta(item);
      if (!meta) {
        readable = tl::unexpected(meta.error());
      } else if (meta->uid == observed_.uid) {
        found = *std::move(meta);
      }
    });
    TRY(std::move(readable));
    return found;
  }

  const Replies& replies_;
  Observed& observed_;
  ActionResult& result_;
};

// What each action asks of the API server.
class Asker {
 public:
  using Requests = std::vector<Request>;

  explicit Asker(const Observed& observed) : observed_(observed) {}

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
    Value meta = LockedMeta(write.clique);
    meta["annotations"][api::kHeldIndicesAnnotation] = api::EncodeHeld(write.held);
    return {
        kube::MergePatchRequest(api::kComputeDomainCliques, write.clique.key,
                                Value::Object({{"metadata", std::move(meta)},
                                               {"daemons", api::EncodeDaemons(write.daemons)}}))};
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
    return {kube::ListRequest(api::kComputeDomains, {.metadata_only = true})};
  }

  [[nodiscard]] Requests operator()(const ReadChildren& read) const {
    Requests requests;
    for (const ChildList& list : ChildLists(read, observed_)) {
      requests.push_back(RequestOf(list, observed_));
    }
    return requests;
  }

  [[nodiscard]] Requests operator()(const ReadDaemonPods&) const {
    Requests requests;
    for (const std::string& ns : observed_.facts.driver_namespaces) {
      requests.push_back(ListLabelled(kube::kPods, ns, observed_.uid));
    }
    return requests;
  }

  [[nodiscard]] Requests operator()(const ReadClaims& read) const {
    return {kube::ListRequest(Served(Kind::kClaim), {.ns = read.ns})};
  }

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

  const Observed& observed_;
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

std::vector<Request> RequestsOf(const Action& action, const Observed& observed) {
  return std::visit(Asker(observed), action);
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

ActionResult TakeReplies(const Action& action, const Replies& replies, Observed& observed) {
  ActionResult result;
  const Result<void> taken = std::visit(Taker(replies, observed, result), action);
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
