// The objects that the rows create. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace bench {

inline constexpr const char* kNamespace = "default";            // For domains and workloads.
inline constexpr const char* kDriverNamespace = "cdom-system";  // For daemons.
inline const kube::Resource kJobs = {"batch", "v1", "jobs", "Job", true};

json::Value Domain(const std::string& name);
std::string TemplateName(const std::string& domain);
// A Job of `pods` pods that never end, each with a claim from the domain's template.
json::Value Job(const std::string& domain, int pods);
// Nodes of about 10 KB each, like a GPU node's. No simulator runs them.
std::vector<json::Value> Nodes(int count, const std::string& prefix = "load-");
// Claim() returns a claim of the workload's template, as the cluster creates it for a pod. It has
// the pod as owner, and the finalizer of an allocated claim. ClaimStatus() returns its status:
// allocated on `node` and reserved for that pod.
json::Value Claim(const std::string& name, const json::Value& claim_template);
json::Value ClaimStatus(const json::Value& claim, const std::string& node);

// Claims of another driver: one of usual size, and one with as many and as large parameters as the
// API server accepts.
json::Value ForeignClaim(const std::string& name);
json::Value LargeClaim(const std::string& name);

// Returns `object` without the fields that the API server adds, so that it can be created again. In
// all texts each key of `names` is replaced by its value.
json::Value CopyOf(const json::Value& object, const std::map<std::string, std::string>& names);

}  // namespace bench
