// Properties of an action's request: resource, result, errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/finding.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/permission.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/cache/list_page.h"

namespace compute_domain {

// Returns the resource in the version that is served, or in the preferred one if none is.
kube::Resource ResourceOf(Kind kind, const Facts& facts);
// Returns the version of resource.k8s.io that is served for the kind. Empty if none is. Null if the
// kind's version never changes.
const std::string* DraVersion(Kind kind, const Facts& facts);

struct ActionResult {
  std::optional<base::Error> error = {};  // Names the attempted action. Empty if it succeeded.
  bool decide_again = false;              // The action found evidence.
  bool goes_on = false;                   // The action has more requests: see RequestsOf.
  bool changed_nothing = false;           // What it wrote or deleted was so already.
  bool shows_crd = false;                 // The reply shows whether the CRD keeps conditions.
  // A permission that was refused. The action was done in another way, or skipped.
  std::optional<kube::Permission> missing_permission = {};
  std::vector<Expectation> expectations = {};
  std::vector<MemoryChange> memory = {};
  std::vector<Finding> findings = {};  // For later decisions of the same pass.
  // The GPUs of all nodes. Null if they were not counted.
  std::shared_ptr<const api::GpusByNode> gpus = {};
};

using Reply = base::Result<http::Response>;

struct ActionProgress;

// What replies are read with, and what they lead to.
struct ReplyContext {
  const Observed& observed;
  ActionProgress& progress;
  ActionResult& result;
};

// Has the domain's next pass wait until the cache shows at least this version of the object.
void Expect(ActionResult& result, Kind kind, const kube::ObjectKey& key,
            std::string resource_version);

// Returns an error if the reply is not the requested list: it proves nothing then.
base::Result<void> CheckList(Kind kind, const kube::ListPage& list, bool metadata_only);

// Decodes the object that has a child's name, and the metadata of any object.
base::Result<NameHolder> DecodeHolder(std::string_view body);
base::Result<kube::ObjectMeta> DecodeMetaOf(std::string_view body);

// Returns the error for the domain's condition. Empty if it passes without a person's help. `user`
// is Facts::user.
std::optional<Failure> FailureOf(const base::Error& error, const std::string& user = {});

// Returns, for people, what another client undoes if the action is wanted again and again, who it
// is and what to do. Names the client if the objects show it.
std::string DescribeUndoing(const Action& action, const Observed& observed);

}  // namespace compute_domain
