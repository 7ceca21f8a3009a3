#include "controller/compute_domain/requests/action_requests.h"

#include <type_traits>
#include <variant>

#include "controller/compute_domain/requests/writes.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

namespace {

template <typename T>
concept Write =
    requires(const T& action, const Observed& observed) { RequestOf(action, observed); };

using Method = ActionProgress::Method;

// Returns whether cdom can continue without the action: the garbage collector deletes cliques, and
// an administrator may replace daemons.
bool CanBeLeft(const Action& action) {
  const auto* remove = std::get_if<Delete>(&action);
  return std::holds_alternative<ReplaceDaemon>(action) ||
         (remove != nullptr && remove->kind == Kind::kClique);
}

// Returns whether the server found no domain whose status it could write. A server whose CRD lacks
// the subresource says the same, so only a read of the domain proves that it is deleted.
bool IsMissing(const WriteStatus& write, const Reply& reply) {
  return !reply && kube::ProvesAbsence(reply.error(), api::kComputeDomains, write.object.key.name);
}
template <typename Patch>
bool IsMissing(const Patch& /*action*/, const Reply& /*reply*/) {
  return false;
}

Delete DeleteOf(const Delete& remove) { return remove; }

template <typename T>
concept Deletes = requires(const T& action) { DeleteOf(action); };

// Handles the reply of a DELETE, or of the read after its 409, which may come from another writer,
// from the UID, or from a webhook.
template <Deletes Remove>
base::Result<void> HandleDeleteReply(const Remove& action, const Reply& reply, ReplyContext& to) {
  ActionProgress& progress = to.progress;
  if (!progress.conflict) {
    const bool is_conflict = !reply && reply.error().code == base::ErrorCode::kConflict;
    if (!is_conflict) return HandleReply(action, reply, to);
    progress.conflict = reply.error();
    to.result.goes_on = true;
    return {};
  }
  base::Error error = *std::move(progress.conflict);
  const base::Result<bool> exists =
      reply ? StillExists(DeleteOf(action), reply->body) : tl::unexpected(reply.error());
  if (!exists) {
    error.code = base::ErrorCode::kUnknownOutcome;
    return tl::unexpected(std::move(error));
  }
  if (!*exists) return HandleReply(action, http::Response{.status = 200}, to);
  // Another writer may be in the way once. A person must know of what refuses again.
  if (HasFailed(to.observed.memory, action)) error.code = base::ErrorCode::kForbidden;
  return tl::unexpected(std::move(error));
}

// Handles the reply of a patch that is sent as PATCH or, without that permission, as GET and PUT.
template <typename Patch>
base::Result<void> HandlePatchReply(const Patch& action, const Reply& reply, ReplyContext& to) {
  ActionProgress& progress = to.progress;
  const bool is_forbidden = !reply && kube::IsMissingPermission(reply.error());
  if constexpr (Deletes<Patch>) {
    if (progress.conflict || !is_forbidden) return HandleDeleteReply(action, reply, to);
  }
  const bool is_missing = IsMissing(action, reply);
  if (progress.method == Method::kPatch && !is_forbidden && !is_missing) {
    return HandleReply(action, reply, to);
  }
  const http::Request request = RequestOf(action, to.observed);
  if (request.method != http::Method::kPatch) {
    if (!CanBeLeft(action)) return HandleReply(action, reply, to);
    to.result.missing_permission = kube::PermissionFor(request);
    to.result.decide_again = true;
    return {};
  }
  switch (progress.method) {
    case Method::kPatch:
      progress.method = Method::kRead;
      to.result.goes_on = true;
      return {};
    case Method::kRead: {
      if (is_missing) return {};  // Deleted, and the cache does not show that yet.
      if (!reply) return HandleReply(action, reply, to);
      base::Result<http::Request> put = kube::PutInstead(request, reply->body);
      if (!put) return HandleReply(action, tl::unexpected(put.error()), to);
      progress.put = *std::move(put);
      progress.method = Method::kPut;
      to.result.goes_on = true;
      return {};
    }
    case Method::kPut:
      // If both are refused, the refusal of the PUT is reported as the failure.
      if (!is_forbidden && !is_missing) to.result.missing_permission = kube::PermissionFor(request);
      return HandleReply(action, reply, to);
  }
  return {};
}

}  // namespace

ActionProgress StartAction(const Action& action, const Observed& observed) {
  ActionProgress progress;
  if (observed.facts.cluster.missing_permissions.empty() || !IsWrite(action)) return progress;
  const http::Request first = RequestsOf(action, observed).front();
  const bool is_forbidden =
      observed.facts.cluster.missing_permissions.contains(kube::PermissionFor(first));
  if (is_forbidden && first.method == http::Method::kPatch) progress.method = Method::kRead;
  return progress;
}

std::vector<http::Request> RequestsOf(const Action& action, const Observed& observed,
                                      const ActionProgress& progress) {
  return std::visit(
      [&](const auto& one) -> std::vector<http::Request> {
        if constexpr (Write<std::remove_cvref_t<decltype(one)>>) {
          if (progress.method == Method::kPut) return {progress.put};
          using One = std::remove_cvref_t<decltype(one)>;
          if constexpr (Deletes<One>) {
            if (progress.conflict) return {ReadAfterConflict(DeleteOf(one), observed)};
          }
          http::Request request = RequestOf(one, observed);
          if (progress.method == Method::kRead) return {kube::ReadBeforePut(request)};
          return {std::move(request)};
        } else {
          return RequestsOf(one, observed, progress);
        }
      },
      action);
}

ActionResult HandleReplies(const Action& action, const Replies& replies, const Observed& observed,
                           ActionProgress& progress) {
  ActionResult result;
  ReplyContext to = {.observed = observed, .progress = progress, .result = result};
  const base::Result<void> taken = std::visit(
      [&](const auto& one) {
        if constexpr (Write<std::remove_cvref_t<decltype(one)>>) {
          return HandlePatchReply(one, replies.front(), to);
        } else {
          return HandleReplies(one, replies, to);
        }
      },
      action);
  if (!taken) {
    result = {.missing_permission = std::move(result.missing_permission),
              .memory = std::move(result.memory),
              .findings = std::move(result.findings)};
    result.error = base::While(Describe(action))(taken.error());
  }
  return result;
}

}  // namespace compute_domain
