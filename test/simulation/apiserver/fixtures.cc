#include "test/simulation/apiserver/fixtures.h"

#include <string_view>
#include <utility>

namespace simulation {

namespace {

using json::Value;

Value DomainLabel(const std::string& domain) {
  return Value::Object({{std::string(kDomainLabel), domain}});
}

Value ClaimTemplate(const std::string& name, const std::string& domain, const char* target,
                    const char* request, std::string_view device_class, Value parameters) {
  Value labels = DomainLabel(domain);
  labels[kTargetLabel] = target;
  parameters["apiVersion"] = "resource.nvidia.com/v1beta1";
  parameters["domainID"] = domain;
  Value devices = Value::Object(
      {{"requests", Value::Array({Value::Object(
                        {{"name", request},
                         {"exactly", Value::Object({{"deviceClassName", device_class}})}})})},
       {"config", Value::Array({Value::Object(
                      {{"requests", Value::Array({request})},
                       {"opaque", Value::Object({{"driver", kDriver},
                                                 {"parameters", std::move(parameters)}})}})})}});
  return Value::Object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaimTemplate"},
       {"metadata", Value::Object({{"name", name}, {"labels", std::move(labels)}})},
       {"spec", Value::Object({{"spec", Value::Object({{"devices", std::move(devices)}})}})}});
}

}  // namespace

Value ComputeDomainObject(const std::string& name, const std::string& template_name,
                          int num_nodes) {
  return Value::Object(
      {{"apiVersion", "resource.nvidia.com/v1beta1"},
       {"kind", "ComputeDomain"},
       {"metadata", Value::Object({{"name", name}})},
       {"spec", Value::Object(
                    {{"numNodes", num_nodes},
                     {"channel", Value::Object({{"resourceClaimTemplate",
                                                 Value::Object({{"name", template_name}})}})}})}});
}

Value NamespaceObject(const std::string& name) {
  return Value::Object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::Object({{"name", name}})}});
}

Value NodeObject(const std::string& name, const std::string& boot_id) {
  return Value::Object(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", Value::Object({{"name", name},
                                   {"labels", Value::Object({{"kubernetes.io/hostname", name}})}})},
       {"status",
        Value::Object({{"nodeInfo", Value::Object({{"bootID", boot_id}})},
                       {"conditions", Value::Array({Value::Object(
                                          {{"type", "Ready"}, {"status", "True"}})})}})}});
}

Value DaemonSetObject(const std::string& domain, bool controller_writes) {
  const std::string name = DaemonName(domain);
  Value pod_labels = DomainLabel(domain);
  if (controller_writes) pod_labels[kMembershipWriterLabel] = "controller";
  Value pod_spec = Value::Object(
      {{"nodeSelector", DomainLabel(domain)},
       {"tolerations", Value::Array({Value::Object({{"operator", "Exists"}})})},
       {"containers",
        Value::Array({Value::Object({{"name", "compute-domain-daemon"}, {"image", "daemon"}})})},
       {"resourceClaims", Value::Array({Value::Object({{"name", "compute-domain-daemon"},
                                                       {"resourceClaimTemplateName", name}})})}});
  return Value::Object(
      {{"apiVersion", "apps/v1"},
       {"kind", "DaemonSet"},
       {"metadata", Value::Object({{"name", name}, {"labels", DomainLabel(domain)}})},
       {"spec",
        Value::Object(
            {{"selector", Value::Object({{"matchLabels", DomainLabel(domain)}})},
             {"template", Value::Object({{"metadata", Value::Object({{"labels", pod_labels}})},
                                         {"spec", std::move(pod_spec)}})}})}});
}

Value DaemonTemplateObject(const std::string& domain) {
  return ClaimTemplate(DaemonName(domain), domain, "Daemon", "daemon", kDaemonClass,
                       Value::Object({{"kind", kDaemonConfig}}));
}

Value WorkloadTemplateObject(const std::string& domain, const std::string& domain_name,
                             const std::string& name) {
  Value object =
      ClaimTemplate(name, domain, "Workload", "channel", kChannelClass,
                    Value::Object({{"kind", kChannelConfig}, {"allocationMode", "Single"}}));
  object["metadata"]["ownerReferences"] =
      Value::Array({Value::Object({{"apiVersion", "resource.nvidia.com/v1beta1"},
                                   {"kind", "ComputeDomain"},
                                   {"name", domain_name},
                                   {"uid", domain},
                                   {"controller", true}})});
  return object;
}

Value ForeignTemplateObject(const std::string& name) {
  const Value request = Value::Object(
      {{"name", "gpu"}, {"exactly", Value::Object({{"deviceClassName", "gpu.example.com"}})}});
  return Value::Object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaimTemplate"},
       {"metadata", Value::Object({{"name", name}})},
       {"spec", Value::Object(
                    {{"spec", Value::Object(
                                  {{"devices",
                                    Value::Object({{"requests", Value::Array({request})}})}})}})}});
}

}  // namespace simulation
