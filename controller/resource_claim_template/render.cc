#include "controller/resource_claim_template/render.h"

#include "controller/api/names.h"

namespace resource_claim_template {

namespace {

using json::Value;

// `request` names the one device asked for; `parameters` is our driver's opaque configuration,
// which the kubelet plugin decodes strictly: no field more.
Value Render(const kube::ObjectKey& key, const std::string& domain, std::string_view target,
             const char* request, std::string_view device_class, Value parameters) {
  Value devices = Value::Object(
      {{"requests", Value::Array({Value::Object(
                        {{"name", request},
                         {"exactly", Value::Object({{"deviceClassName", device_class}})}})})},
       {"config", Value::Array({Value::Object(
                      {{"requests", Value::Array({request})},
                       {"opaque", Value::Object({{"driver", api::kDriver},
                                                 {"parameters", std::move(parameters)}})}})})}});
  return Value::Object(
      {{"apiVersion", kube::kResourceClaimTemplates.ApiVersion()},
       {"kind", kube::kResourceClaimTemplates.kind},
       {"metadata",
        Value::Object({{"name", key.name},
                       {"namespace", key.ns},
                       {"labels", Value::Object({{std::string(api::kDomainLabel), domain},
                                                 {std::string(api::kTargetLabel), target}})}})},
       {"spec", Value::Object({{"spec", Value::Object({{"devices", std::move(devices)}})}})}});
}

}  // namespace

json::Value RenderDaemon(const std::string& domain, const std::string& ns) {
  return Render({.ns = ns, .name = api::DaemonName(domain)}, domain, api::kTargetDaemon, "daemon",
                api::kDaemonDeviceClass,
                Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                               {"kind", api::kDaemonConfigKind},
                               {"domainID", domain}}));
}

json::Value RenderWorkload(const api::ComputeDomain& domain) {
  Value rendered = Render({.ns = domain.meta.key.ns, .name = domain.template_name}, domain.meta.uid,
                          api::kTargetWorkload, "channel", api::kChannelDeviceClass,
                          Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                         {"kind", api::kChannelConfigKind},
                                         {"domainID", domain.meta.uid},
                                         {"allocationMode", domain.allocation_mode}}));
  rendered["metadata"]["ownerReferences"] =
      Value::Array({Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                   {"kind", api::kComputeDomains.kind},
                                   {"name", domain.meta.key.name},
                                   {"uid", domain.meta.uid},
                                   {"controller", true}})});
  return rendered;
}

}  // namespace resource_claim_template
