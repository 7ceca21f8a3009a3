// What an action is to the API server: which resource, whether it writes, what its result is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/permission.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

// In the version that is served; in the preferred one if none is.
[[nodiscard]] kube::Resource ResourceOf(Kind kind, const Facts& facts);
// Of resource.k8s.io the version that is served, empty if none is; nullptr for a kind whose version
// never changes.
[[nodiscard]] const std::string* DraVersion(Kind kind, const Facts& facts);

struct ActionResult {
  std::optional<base::Error> error = {};                    // With what was attempted.
  bool decide_again = false;                                // It found evidence.
  bool goes_on = false;                                     // There is more to ask: see RequestsOf.
  bool shows_crd = false;                                   // Whether it keeps conditions.
  std::optional<kube::Permission> missing_permission = {};  // And was done without, or left.
  std::vector<Expectation> expectations = {};
  std::vector<MemoryChange> memory = {};
};

using Reply = base::Result<http::Response>;

// What replies change.
struct ReplyContext {
  Observed& observed;
  ActionResult& result;
};

// What a body says of the holder of a child's name, and of any object.
[[nodiscard]] base::Result<NameHolder> DecodeHolder(std::string_view body);
[[nodiscard]] base::Result<kube::ObjectMeta> DecodeMetaOf(std::string_view body);

// The error as the domain's condition has it; empty for what passes by itself. `user` is
// Facts::user.
[[nodiscard]] std::optional<Failure> FailureOf(const base::Error& error,
                                               const std::string& user = {});

}  // namespace compute_domain
