#include "controller/resource_claim_template/render.h"

#include "controller/api/names.h"

namespace resource_claim_template {

namespace {

using json::Value;

// Exactly one device of the class. v1beta1 has the fields of `exactly` beside the name.
Value RenderRequest(const char* name, std::string_view device_class, const std::string& version) {
  if (version == "v1beta1") {
    return Value::Object({{"name", name}, {"deviceClassName", device_class}});
  }
  return Value::Object(
      {{"name", name}, {"exactly", Value::Object({{"deviceClassName", device_class}})}});
}

// `request` names the one device asked for; `parameters` is our driver's opaque configuration,
// which the kubelet plugin decodes strictly: no field more.
Value Render(const kube::ObjectKey& key, const std::string& domain, std::string_view target,
             const char* request, std::string_view device_class, Value parameters,
             const std::string& version) {
  kube::Resource resource = kube::kResourceClaimTemplates;
  resource.version = version;
  Value devices = Value::Object(
      {{"requests", Value::Array({RenderRequest(request, device_class, version)})},
       {"config", Value::Array({Value::Object(
                      {{"requests", Value::Array({request})},
                       {"opaque", Value::Object({{"driver", api::kDriver},
                                                 {"parameters", std::move(parameters)}})}})})}});
  return Value::Object(
      {{"apiVersion", resource.ApiVersion()},
       {"kind", resource.kind},
       {"metadata",
        Value::Object({{"name", key.name},
                       {"namespace", key.ns},
                       {"labels", Value::Object({{std::string(api::kDomainLabel), domain},
                                                 {std::string(api::kTargetLabel), target}})}})},
       {"spec", Value::Object({{"spec", Value::Object({{"devices", std::move(devices)}})}})}});
}

}  // namespace

json::Value RenderDaemon(const std::string& domain, const std::string& ns,
                         const std::string& version) {
  Value rendered = Render({.ns = ns, .name = api::DaemonName(domain)}, domain, api::kTargetDaemon,
                          "daemon", api::kDaemonDeviceClass,
                          Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                         {"kind", api::kDaemonConfigKind},
                                         {"domainID", domain}}),
                          version);
  // So that those of one domain can be asked for, among all that lie in the driver's namespace.
  rendered["spec"]["metadata"]["labels"][std::string(api::kDomainLabel)] = domain;
  return rendered;
}

json::Value RenderWorkload(const api::ComputeDomain& domain, const std::string& version) {
  Value rendered = Render({.ns = domain.meta.key.ns, .name = domain.template_name}, domain.meta.uid,
                          api::kTargetWorkload, "channel", api::kChannelDeviceClass,
                          Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                         {"kind", api::kChannelConfigKind},
                                         {"domainID", domain.meta.uid},
                                         {"allocationMode", domain.allocation_mode}}),
                          version);
  rendered["metadata"]["ownerReferences"] =
      Value::Array({Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                   {"kind", api::kComputeDomains.kind},
                                   {"name", domain.meta.key.name},
                                   {"uid", domain.meta.uid},
                                   {"controller", true}})});
  return rendered;
}

}  // namespace resource_claim_template
