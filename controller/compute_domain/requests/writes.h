// What each writing action asks of the API server, and what its reply means.
//
// HandleReply puts it into `observed` and `result`; its error is the reply's, unless that is as
// good as success.
#pragma once

#include "controller/compute_domain/requests/action_info.h"

namespace compute_domain {

[[nodiscard]] http::Request RequestOf(const Create& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const Create& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const Delete& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const Delete& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const ReplaceDaemon& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const ReplaceDaemon& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const WriteFinalizers& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const WriteFinalizers& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const WriteClique& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const WriteClique& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const WritePodTemplate& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const WritePodTemplate& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const WriteIdentity& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const WriteIdentity& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const RemoveNodeLabel& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const RemoveNodeLabel& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const RestoreNodeLabel& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const RestoreNodeLabel& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

[[nodiscard]] http::Request RequestOf(const WriteStatus& action, const Observed& observed);
[[nodiscard]] base::Result<void> HandleReply(const WriteStatus& action,
                                             const base::Result<http::Response>& reply,
                                             Observed& observed, ActionResult& result);

}  // namespace compute_domain
