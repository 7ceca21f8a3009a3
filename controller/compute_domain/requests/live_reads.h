// What each live read asks of the API server, and what its replies mean: they become evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/requests/action_info.h"
#include "pkg/kube/client/page_limit.h"

namespace compute_domain {

using Replies = std::vector<base::Result<http::Response>>;

// One page of a collection that is read live.
struct Page {
  Kind kind = {};
  std::string ns = {};              // Empty: all.
  std::string continue_token = {};  // Empty: the first.
  kube::PageLimit limit = kube::PageLimit(400);
  bool by_label = true;  // Only what carries the domain's label.
};

// How far an action has come that takes several requests, one after the other.
struct ActionProgress {
  // Of one that reads collections. Of each page only what belongs to the domain stays, so that
  // memory follows the domain and not what else lies in a namespace.
  std::vector<Page> pages = {};  // What comes next; empty at the beginning.
  Children found = {};
  std::optional<kube::ObjectMeta> owner = {};
  // Of one that patches. Where that is refused the object is read and put instead.
  enum class Method { kPatch, kRead, kPut } method = Method::kPatch;
  http::Request put = {};  // kPut.
};

[[nodiscard]] std::vector<http::Request> RequestsOf(const ReadOwner& action,
                                                    const Observed& observed,
                                                    const ActionProgress& read);
[[nodiscard]] base::Result<void> HandleReplies(const ReadOwner& action, const Replies& replies,
                                               Observed& observed, ActionProgress& read,
                                               ActionResult& result);

[[nodiscard]] std::vector<http::Request> RequestsOf(const ReadChildren& action,
                                                    const Observed& observed,
                                                    const ActionProgress& read);
[[nodiscard]] base::Result<void> HandleReplies(const ReadChildren& action, const Replies& replies,
                                               Observed& observed, ActionProgress& read,
                                               ActionResult& result);

[[nodiscard]] std::vector<http::Request> RequestsOf(const ReadDaemons& action,
                                                    const Observed& observed,
                                                    const ActionProgress& read);
[[nodiscard]] base::Result<void> HandleReplies(const ReadDaemons& action, const Replies& replies,
                                               Observed& observed, ActionProgress& read,
                                               ActionResult& result);

[[nodiscard]] std::vector<http::Request> RequestsOf(const ReadClaims& action,
                                                    const Observed& observed,
                                                    const ActionProgress& read);
[[nodiscard]] base::Result<void> HandleReplies(const ReadClaims& action, const Replies& replies,
                                               Observed& observed, ActionProgress& read,
                                               ActionResult& result);

[[nodiscard]] std::vector<http::Request> RequestsOf(const ReadPodConditions& action,
                                                    const Observed& observed,
                                                    const ActionProgress& read);
[[nodiscard]] base::Result<void> HandleReplies(const ReadPodConditions& action,
                                               const Replies& replies, Observed& observed,
                                               ActionProgress& read, ActionResult& result);

[[nodiscard]] std::vector<http::Request> RequestsOf(const ReadTaken& action,
                                                    const Observed& observed,
                                                    const ActionProgress& read);
[[nodiscard]] base::Result<void> HandleReplies(const ReadTaken& action, const Replies& replies,
                                               Observed& observed, ActionProgress& read,
                                               ActionResult& result);

}  // namespace compute_domain
