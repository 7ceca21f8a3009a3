// Objects as their clients create them, for the simulation and its tests.
#pragma once

#include <string>

#include "pkg/json/value.h"
#include "test/simulation/apiserver/contract.h"

namespace simulation {

// A ComputeDomain as a user applies it.
json::Value ComputeDomainObject(const std::string& name, const std::string& template_name,
                                int num_nodes = 0);
json::Value NamespaceObject(const std::string& name);
// A ready node, with its own name as host name.
json::Value NodeObject(const std::string& name, const std::string& boot_id);
// A child of the domain, with only the fields that the contract requires.
json::Value DaemonSetObject(const std::string& domain, bool controller_writes);
json::Value DaemonTemplateObject(const std::string& domain);
json::Value WorkloadTemplateObject(const std::string& domain, const std::string& domain_name,
                                   const std::string& name);
// A claim template that belongs to no domain.
json::Value ForeignTemplateObject(const std::string& name);

}  // namespace simulation
