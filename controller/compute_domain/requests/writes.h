// Request of each write action, and the meaning of its reply.
//
// HandleReply stores the reply in the context. It returns the reply's error, unless the error is as
// good as success.
#pragma once

#include <string_view>

#include "controller/compute_domain/requests/action_result.h"

namespace compute_domain {

http::Request RequestOf(const Create&, const Observed&);
base::Result<void> HandleReply(const Create&, const Reply&, ReplyContext&);

http::Request RequestOf(const Delete&, const Observed&);
base::Result<void> HandleReply(const Delete&, const Reply&, ReplyContext&);

// Returns the read that shows how a DELETE ended that was answered with a 409.
http::Request ReadAfterConflict(const Delete&, const Observed&);
// Returns whether `body`, its reply, shows the object with the UID that was to be deleted.
base::Result<bool> StillExists(const Delete&, std::string_view body);

Delete DeleteOf(const ReplaceDaemon&);
http::Request RequestOf(const ReplaceDaemon&, const Observed&);
base::Result<void> HandleReply(const ReplaceDaemon&, const Reply&, ReplyContext&);

http::Request RequestOf(const WriteFinalizers&, const Observed&);
base::Result<void> HandleReply(const WriteFinalizers&, const Reply&, ReplyContext&);

http::Request RequestOf(const WriteClique&, const Observed&);
base::Result<void> HandleReply(const WriteClique&, const Reply&, ReplyContext&);

http::Request RequestOf(const WritePodTemplate&, const Observed&);
base::Result<void> HandleReply(const WritePodTemplate&, const Reply&, ReplyContext&);

http::Request RequestOf(const WriteIdentity&, const Observed&);
base::Result<void> HandleReply(const WriteIdentity&, const Reply&, ReplyContext&);

http::Request RequestOf(const RemoveNodeLabel&, const Observed&);
base::Result<void> HandleReply(const RemoveNodeLabel&, const Reply&, ReplyContext&);

http::Request RequestOf(const RestoreNodeLabel&, const Observed&);
base::Result<void> HandleReply(const RestoreNodeLabel&, const Reply&, ReplyContext&);

http::Request RequestOf(const WriteStatus&, const Observed&);
base::Result<void> HandleReply(const WriteStatus&, const Reply&, ReplyContext&);

}  // namespace compute_domain
