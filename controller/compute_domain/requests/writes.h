// Request of each write action, and the meaning of its reply.
//
// HandleReply stores the reply in the context. It returns the reply's error, unless the error is as
// good as success.
#pragma once

#include <string_view>

#include "controller/compute_domain/requests/action_info.h"

namespace compute_domain {

[[nodiscard]] http::Request RequestOf(const Create&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const Create&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const Delete&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const Delete&, const Reply&, ReplyContext&);

// Returns the read that shows how a DELETE ended that was answered with a 409.
[[nodiscard]] http::Request ReadAfterConflict(const Delete&, const Observed&);
// Returns whether `body`, its reply, shows the object with the UID that was to be deleted.
[[nodiscard]] base::Result<bool> StillExists(const Delete&, std::string_view body);

[[nodiscard]] Delete DeleteOf(const ReplaceDaemon&);
[[nodiscard]] http::Request RequestOf(const ReplaceDaemon&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const ReplaceDaemon&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const WriteFinalizers&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const WriteFinalizers&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const WriteClique&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const WriteClique&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const WritePodTemplate&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const WritePodTemplate&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const WriteIdentity&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const WriteIdentity&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const RemoveNodeLabel&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const RemoveNodeLabel&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const RestoreNodeLabel&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const RestoreNodeLabel&, const Reply&, ReplyContext&);

[[nodiscard]] http::Request RequestOf(const WriteStatus&, const Observed&);
[[nodiscard]] base::Result<void> HandleReply(const WriteStatus&, const Reply&, ReplyContext&);

}  // namespace compute_domain
