#include "controller/compute_domain/apply.h"

#include <type_traits>
#include <variant>

#include "controller/compute_domain/writes.h"

namespace compute_domain {

namespace {

template <typename T>
concept Write =
    requires(const T& action, const Observed& observed) { RequestOf(action, observed); };

}  // namespace

std::vector<http::Request> RequestsOf(const Action& action, const Observed& observed,
                                      const LiveRead& read) {
  return std::visit(
      [&](const auto& one) -> std::vector<http::Request> {
        if constexpr (Write<std::remove_cvref_t<decltype(one)>>) {
          return {RequestOf(one, observed)};
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
          return TakeReply(one, replies.front(), observed, result);
        } else {
          return TakeReplies(one, replies, observed, read, result);
        }
      },
      action);
  if (!taken) {
    result = {};
    result.error = base::While(Describe(action))(taken.error());
  }
  return result;
}

}  // namespace compute_domain
