// Requests of each live read, and how their replies become evidence.
#pragma once

#include <vector>

#include "controller/compute_domain/requests/action_progress.h"
#include "controller/compute_domain/requests/action_result.h"

namespace compute_domain {

using Requests = std::vector<http::Request>;
using Replies = std::vector<Reply>;

Requests RequestsOf(const ReadOwner&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadChildren&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadDaemons&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadClaims&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadNodes&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadDaemonSetEvents&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadPodConditions&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadUses&, const Observed&, const ActionProgress&);
Requests RequestsOf(const ReadTaken&, const Observed&, const ActionProgress&);

base::Result<void> HandleReplies(const ReadOwner&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadChildren&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadDaemons&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadClaims&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadNodes&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadDaemonSetEvents&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadPodConditions&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadUses&, const Replies&, ReplyContext&);
base::Result<void> HandleReplies(const ReadTaken&, const Replies&, ReplyContext&);

}  // namespace compute_domain
