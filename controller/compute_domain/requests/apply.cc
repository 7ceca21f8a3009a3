#include "controller/compute_domain/requests/apply.h"

#include <type_traits>
#include <variant>

#include "controller/compute_domain/requests/writes.h"
#include "pkg/kube/client/patch_by_put.h"

namespace compute_domain {

namespace {

template <typename T>
concept Write =
    requires(const T& action, const Observed& observed) { RequestOf(action, observed); };

using Way = LiveRead::Way;

// What the domain's end, or its daemons, can do without: the garbage collector, and whoever
// replaces the daemons by hand.
bool CanBeLeft(const Action& action) {
  const auto* remove = std::get_if<Delete>(&action);
  return std::holds_alternative<ReplaceDaemon>(action) ||
         (remove != nullptr && remove->kind == Kind::kClique);
}

// As TakeReply() of what a patch is for, on whichever way it is done.
template <typename Patch>
base::Result<void> TakeOnItsWay(const Patch& action, const base::Result<http::Response>& reply,
                                Observed& observed, LiveRead& read, ActionResult& result) {
  const bool is_refused = !reply && kube::IsForWantOfRight(reply.error());
  if (read.way == Way::kPatch && !is_refused) return TakeReply(action, reply, observed, result);
  const http::Request request = RequestOf(action, observed);
  if (request.method != http::Method::kPatch) {
    if (!CanBeLeft(action)) return TakeReply(action, reply, observed, result);
    result.refused = kube::RightFor(request);
    result.decide_again = true;
    return {};
  }
  switch (read.way) {
    case Way::kPatch:
      read.way = Way::kRead;
      result.goes_on = true;
      return {};
    case Way::kRead: {
      if (!reply) return TakeReply(action, reply, observed, result);
      base::Result<http::Request> put = kube::PutInstead(request, reply->body);
      if (!put) return TakeReply(action, tl::unexpected(put.error()), observed, result);
      read.put = *std::move(put);
      read.way = Way::kPut;
      result.goes_on = true;
      return {};
    }
    case Way::kPut:
      // Who is refused both has not found a way around.
      if (!is_refused) result.refused = kube::RightFor(request);
      return TakeReply(action, reply, observed, result);
  }
  return {};
}

}  // namespace

LiveRead Begin(const Action& action, const Observed& observed) {
  LiveRead read;
  if (observed.facts.refused.empty() || !IsWrite(action)) return read;
  const http::Request first = RequestsOf(action, observed).front();
  const bool is_refused = observed.facts.refused.contains(kube::RightFor(first));
  if (is_refused && first.method == http::Method::kPatch) read.way = Way::kRead;
  return read;
}

std::vector<http::Request> RequestsOf(const Action& action, const Observed& observed,
                                      const LiveRead& read) {
  return std::visit(
      [&](const auto& one) -> std::vector<http::Request> {
        if constexpr (Write<std::remove_cvref_t<decltype(one)>>) {
          if (read.way == Way::kPut) return {read.put};
          http::Request request = RequestOf(one, observed);
          if (read.way == Way::kRead) return {kube::ReadBeforePut(request)};
          return {std::move(request)};
        } else {
          return RequestsOf(one, observed, read);
        }
      },
      action);
}

ActionResult TakeReplies(const Action& action, const Replies& replies, Observed& observed,
                         LiveRead& read) {
  ActionResult result;
  const base::Result<void> taken = std::visit(
      [&](const auto& one) {
        if constexpr (Write<std::remove_cvref_t<decltype(one)>>) {
          return TakeOnItsWay(one, replies.front(), observed, read, result);
        } else {
          return TakeReplies(one, replies, observed, read, result);
        }
      },
      action);
  if (!taken) {
    result = {.refused = std::move(result.refused)};
    result.error = base::While(Describe(action))(taken.error());
  }
  return result;
}

}  // namespace compute_domain
