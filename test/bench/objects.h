// The objects that the rows create. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace bench {

inline constexpr const char* kNamespace = "default";            // Of domains and workloads.
inline constexpr const char* kDriverNamespace = "cdom-system";  // Of the daemons.
inline const kube::Resource kJobs = {"batch", "v1", "jobs", "Job", true};

[[nodiscard]] json::Value Domain(const std::string& name);
[[nodiscard]] std::string TemplateName(const std::string& domain);
// `pods` pods that never end, each with a claim from the domain's template.
[[nodiscard]] json::Value Job(const std::string& domain, int pods);
// Nodes of about 10 KB each, as a kubelet of a GPU node makes them; nobody plays them.
[[nodiscard]] std::vector<json::Value> Nodes(int count, const std::string& prefix = "load-");
// A claim of the workload's template as the cluster makes it for a pod, with the pod as its owner
// and the finalizer of what is allocated; and what goes into its status: allocated on `node` and
// reserved for that pod.
[[nodiscard]] json::Value Claim(const std::string& name, const json::Value& claim_template);
[[nodiscard]] json::Value ClaimStatus(const json::Value& claim, const std::string& node);

// Claims of another driver: of the usual size, and with as many and as large parameters as the API
// server takes.
[[nodiscard]] json::Value ForeignClaim(const std::string& name);
[[nodiscard]] json::Value LargeClaim(const std::string& name);

// `object` as it could be created again: what the API server adds is taken out of it, and each of
// `names` that occurs in a text is replaced by what it maps to.
[[nodiscard]] json::Value CopyOf(const json::Value& object,
                                 const std::map<std::string, std::string>& names);

}  // namespace bench
