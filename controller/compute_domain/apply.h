// Turns actions into requests, and their replies into what was observed. The last place that knows
// what an action means to the API server; it neither sends nor waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/plan.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

[[nodiscard]] const kube::Resource& ResourceOf(Kind kind);
// In the version that is served; in the preferred one if none is.
[[nodiscard]] kube::Resource ResourceOf(Kind kind, const Facts& facts);

// One page of a collection that is read live.
struct Page {
  Kind kind = {};
  std::string ns = {};              // Empty: all.
  std::string continue_token = {};  // Empty: the first.
};

// How far an action has come that reads collections. Of each page only what belongs to the domain
// stays, so that memory follows the domain and not what else lies in a namespace.
struct LiveRead {
  std::vector<Page> pages = {};  // What comes next; empty at the beginning.
  Children found = {};
  std::optional<kube::ObjectMeta> owner = {};
};

// Never empty. The requests of one action may travel side by side. `read` is where an action stands
// whose result said that it goes on.
[[nodiscard]] std::vector<http::Request> RequestsOf(const Action& action, const Observed& observed,
                                                    const LiveRead& read = {});

// What a successful write leaves for the cache to catch up with.
struct Expectation {
  Kind kind = {};
  kube::ObjectKey key = {};
  std::string resource_version = {};  // The store must be as new as this; or, if empty,
  kube::Uid gone = {};                // this incarnation must be gone or on its way.
};

struct ActionResult {
  std::optional<base::Error> error = {};  // With what was attempted.
  bool decide_again = false;              // It found evidence.
  bool goes_on = false;                   // It has more to read: ask RequestsOf again.
  std::vector<Expectation> expectations = {};
};

// Puts what the replies say into `observed`, so that a later decision of the same pass sees it.
// `replies` went through kube::CheckStatus.
[[nodiscard]] ActionResult TakeReplies(const Action& action,
                                       const std::vector<base::Result<http::Response>>& replies,
                                       Observed& observed, LiveRead& read);

// The error as the domain's condition has it; empty for what passes by itself.
[[nodiscard]] std::optional<Failure> FailureOf(const base::Error& error);

// "create DaemonSet cdom-system/x": for errors and logs.
[[nodiscard]] std::string Describe(const Action& action);
[[nodiscard]] bool IsWrite(const Action& action);

}  // namespace compute_domain
