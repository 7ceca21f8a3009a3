#include "controller/compute_domain/model/action.h"

#include <algorithm>
#include <type_traits>

#include "controller/api/names.h"
#include "pkg/base/find.h"
#include "pkg/base/overload.h"

namespace compute_domain {

using base::Overload;

namespace {

template <typename T, typename... Others>
constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

json::Value ContentOf(const WriteClique& write) {
  return json::Value::Object({{"daemons", api::EncodeDaemons(write.clique.daemons)},
                              {"held", api::EncodeHeld(write.clique.held)},
                              {"rebooted", api::EncodeRebooted(write.clique.rebooted)},
                              {"joining", write.clique.joining.value_or(0)},
                              {"owners", write.owners}});
}

json::Value ContentOf(const WriteStatus& write) {
  api::DomainStatus status = write.status;
  // Content is what is sent, messages included: no rule reads their words. Times differ, and this
  // condition says that the write was undone.
  std::erase_if(status.conditions, [](const kube::Condition& condition) {
    return condition.type == api::kConditionConflicted;
  });
  for (kube::Condition& condition : status.conditions) condition.last_transition_time.clear();
  return Encode(status);
}

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
    case Kind::kResourceSlice:
      break;
  }
  return kube::kResourceSlices;
}

std::string Describe(const Action& action) {
  const auto of = [&](const char* verb) {
    const ActionId id = IdOf(action);
    return verb + (" " + ResourceOf(id.kind).kind) + " " + kube::ToString(id.key);
  };
  return std::visit(
      Overload{[&](const Create&) { return of("create"); },
               [&](const Delete&) { return of("delete"); },
               [&](const ReplaceDaemon&) { return of("replace"); },
               [&](const WriteFinalizers&) { return of("patch finalizers of"); },
               [&](const WriteClique&) { return of("patch"); },
               [&](const WritePodTemplate&) { return of("replace the pod template of"); },
               [&](const WriteIdentity& write) {
                 return of(write.owners.IsNull() ? "patch labels of" : "patch labels and owner of");
               },
               [&](const RemoveNodeLabel&) { return of("remove the domain label of"); },
               [&](const RestoreNodeLabel&) { return of("put the domain label back on"); },
               [&](const WriteStatus&) { return of("patch status of"); },
               [&](const ReadOwner& read) {
                 return read.key ? of("get") : std::string("list ComputeDomains");
               },
               [](const ReadChildren&) { return std::string("list what the domain left"); },
               [](const ReadDaemons&) { return std::string("list daemon pods and cliques"); },
               [](const ReadNodes&) { return std::string("list Nodes by name"); },
               [](const ReadPodConditions& read) { return "get waiting Pods of " + read.ns; },
               [](const ReadUses& read) { return "get Pods of " + read.ns; },
               [&](const ReadDaemonSetEvents&) { return of("list Events of"); },
               [](const ReadClaims& read) { return "list ResourceClaims of " + read.ns; },
               [&](const ReadTaken&) { return of("get"); }},
      action);
}

ActionId IdOf(const Action& action) {
  const auto of = [&](Kind kind, kube::ObjectKey key) {
    return ActionId{.type = action.index(), .kind = kind, .key = std::move(key)};
  };
  return std::visit(
      Overload{
          [&](const Create& create) { return of(create.kind, create.key); },
          [&](const Delete& remove) { return of(remove.kind, remove.key); },
          [&](const ReplaceDaemon& replace) { return of(Kind::kDaemonPod, replace.key); },
          [&](const WriteFinalizers& write) { return of(write.kind, write.object.key); },
          [&](const WriteClique& write) { return of(Kind::kClique, write.clique.meta.key); },
          [&](const WritePodTemplate& write) { return of(Kind::kDaemonSet, write.daemon_set.key); },
          [&](const WriteIdentity& write) { return of(write.kind, write.object.key); },
          [&](const RemoveNodeLabel& remove) { return of(Kind::kNode, {.name = remove.node}); },
          [&](const RestoreNodeLabel& restore) { return of(Kind::kNode, {.name = restore.node}); },
          [&](const WriteStatus& write) { return of(Kind::kComputeDomain, write.object.key); },
          [&](const ReadOwner& read) {
            return of(Kind::kComputeDomain, read.key.value_or(kube::ObjectKey()));
          },
          [&](const ReadPodConditions& read) { return of({}, {.ns = read.ns}); },
          [&](const ReadUses& read) { return of({}, {.ns = read.ns}); },
          [&](const ReadDaemonSetEvents& read) { return of(Kind::kDaemonSet, read.daemon_set); },
          [&](const ReadClaims& read) { return of(Kind::kClaim, {.ns = read.ns}); },
          [&](const ReadTaken& read) { return of(read.kind, read.key); },
          // Of the domain, and without a name.
          [&](const ReadChildren&) { return of({}, {}); },
          [&](const ReadDaemons&) { return of({}, {}); },
          [&](const ReadNodes&) { return of({}, {}); }},
      action);
}

bool HasFailed(const Memory& memory, const Action& action) {
  const Retry* const retry = base::Find(memory.retries, IdOf(action));
  return retry != nullptr && retry->HasFailed();
}

bool IsWrite(const Action& action) {
  return std::visit(
      []<typename T>(const T&) {
        constexpr bool kIsWrite = kIsOneOf<T, Create, Delete, ReplaceDaemon, WriteFinalizers,
                                           WriteClique, WritePodTemplate, WriteIdentity,
                                           RemoveNodeLabel, RestoreNodeLabel, WriteStatus>;
        constexpr bool kIsRead =
            kIsOneOf<T, ReadOwner, ReadChildren, ReadDaemons, ReadClaims, ReadNodes,
                     ReadPodConditions, ReadUses, ReadDaemonSetEvents, ReadTaken>;
        static_assert(kIsWrite != kIsRead, "a new action is one of both");
        return kIsWrite;
      },
      action);
}

std::size_t ContentOf(const Action& action) {
  const json::Value content = std::visit(
      Overload{[](const Create& create) { return create.object; },
               [](const WriteFinalizers& write) {
                 return json::Value::ArrayOf(write.finalizers,
                                             [](const std::string& name) { return name; });
               },
               [](const WriteClique& write) { return ContentOf(write); },
               [](const WritePodTemplate& write) {
                 return json::Value(write.stamp.substr(0, write.stamp.find(':')));
               },
               [](const WriteIdentity& write) {
                 return json::Value::Object({{"labels", write.labels}, {"owners", write.owners}});
               },
               [](const WriteStatus& write) { return ContentOf(write); },
               [](const auto&) { return json::Value(); }},
      action);
  return std::hash<std::string>()(json::Serialize(content));
}

std::string VersionOf(const Action& action) {
  return std::visit(
      Overload{[](const WriteFinalizers& write) { return write.object.resource_version; },
               [](const WriteClique& write) { return write.clique.meta.resource_version; },
               [](const WritePodTemplate& write) { return write.daemon_set.resource_version; },
               [](const WriteIdentity& write) { return write.object.resource_version; },
               [](const RemoveNodeLabel& remove) { return remove.version; },
               [](const WriteStatus& write) { return write.object.resource_version; },
               [](const auto&) { return std::string(); }},
      action);
}

base::Clock::TimePoint DueAt(const Retry& retry, const Action& action) {
  const bool is_newer = retry.is_conflict && VersionOf(action) != retry.version;
  if (retry.HasFailed()) return is_newer ? retry.until_newer : retry.until;
  const auto written = std::ranges::find(retry.written, ContentOf(action), &Written::content);
  return written == retry.written.end() ? base::Clock::TimePoint::min() : written->until;
}

Concern ConcernOf(const Action& action) {
  const auto of_kind = [](Kind kind) {
    return kind == Kind::kComputeDomain ? Concern::kFinalizer
           : kind == Kind::kClique      ? Concern::kMembership
                                        : Concern::kChildren;
  };
  return std::visit(Overload{[&](const Create& create) { return of_kind(create.kind); },
                             [&](const Delete& remove) { return of_kind(remove.kind); },
                             [](const ReplaceDaemon&) { return Concern::kRollout; },
                             [&](const WriteFinalizers& write) { return of_kind(write.kind); },
                             [](const WriteClique&) { return Concern::kMembership; },
                             [](const WritePodTemplate&) { return Concern::kChildren; },
                             [&](const WriteIdentity& write) { return of_kind(write.kind); },
                             [](const RemoveNodeLabel&) { return Concern::kLabels; },
                             [](const RestoreNodeLabel&) { return Concern::kLabels; },
                             [](const WriteStatus&) { return Concern::kStatus; },
                             [&](const ReadTaken& read) { return of_kind(read.kind); },
                             [](const auto&) { return Concern::kReads; }},
                    action);
}

}  // namespace compute_domain
