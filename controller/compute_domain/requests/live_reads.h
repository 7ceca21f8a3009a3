// What each live read asks of the API server, and what its replies mean: they become evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/requests/action_info.h"
#include "pkg/kube/client/page_limit.h"

namespace compute_domain {

using Requests = std::vector<http::Request>;
using Replies = std::vector<Reply>;

// One page of a collection that is read live.
struct Page {
  Kind kind = {};
  std::string ns = {};              // Empty: all.
  std::string continue_token = {};  // Empty: the first.
  kube::PageLimit limit = kube::PageLimit(400);
  bool by_label = true;  // Only what carries the domain's label.
  // The answer was too large for one page. Before, what is selected by label is asked for without a
  // limit: with one, API servers up to 1.32 read all of the kind from etcd.
  bool is_paged = false;
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

[[nodiscard]] Requests RequestsOf(const ReadOwner&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadOwner&, const Replies&, ActionProgress&,
                                               ReplyContext&);

[[nodiscard]] Requests RequestsOf(const ReadChildren&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadChildren&, const Replies&, ActionProgress&,
                                               ReplyContext&);

[[nodiscard]] Requests RequestsOf(const ReadDaemons&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadDaemons&, const Replies&, ActionProgress&,
                                               ReplyContext&);

[[nodiscard]] Requests RequestsOf(const ReadClaims&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadClaims&, const Replies&, ActionProgress&,
                                               ReplyContext&);

[[nodiscard]] Requests RequestsOf(const ReadNodes&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadNodes&, const Replies&, ActionProgress&,
                                               ReplyContext&);

[[nodiscard]] Requests RequestsOf(const ReadPodConditions&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadPodConditions&, const Replies&,
                                               ActionProgress&, ReplyContext&);

[[nodiscard]] Requests RequestsOf(const ReadTaken&, const Observed&, const ActionProgress&);
[[nodiscard]] base::Result<void> HandleReplies(const ReadTaken&, const Replies&, ActionProgress&,
                                               ReplyContext&);

}  // namespace compute_domain
