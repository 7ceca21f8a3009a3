#include "controller/resource_claim_template/render.h"

#include "controller/api/names.h"

namespace resource_claim_template {

namespace {

using json::Value;

// In v1beta1 the fields of `exactly` are beside the name.
Value RenderRequest(const char* name, const Value& exactly, const std::string& version) {
  Value request = Value::Object({{"name", name}});
  if (version != "v1beta1") {
    request["exactly"] = exactly;
    return request;
  }
  for (const auto& [field, value] : exactly.members()) request[field] = value;
  return request;
}

Value RenderGpus(const Gpus& gpus, const std::string& version) {
  Value exactly = Value::Object({{"deviceClassName", gpus.device_class}});
  if (gpus.count > 0) {
    exactly["count"] = gpus.count;
  } else {
    exactly["allocationMode"] = "All";
  }
  return RenderRequest("gpus", exactly, version);
}

// `request` names the requested device. `parameters` is cdom's opaque config. The kubelet plugin
// decodes it strictly, so an unknown field is an error.
Value Render(const kube::ObjectKey& key, const kube::Uid& domain_uid, std::string_view target,
             const char* request, std::string_view device_class, Value parameters,
             const std::string& version) {
  kube::Resource resource = kube::kResourceClaimTemplates;
  resource.version = version;
  Value devices = Value::Object(
      {{"requests", Value::Array({RenderRequest(
                        request, Value::Object({{"deviceClassName", device_class}}), version)})},
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
                       {"labels", Value::Object({{std::string(api::kDomainLabel), domain_uid},
                                                 {std::string(api::kTargetLabel), target}})}})},
       {"spec", Value::Object({{"spec", Value::Object({{"devices", std::move(devices)}})}})}});
}

}  // namespace

json::Value RenderDaemon(const kube::Uid& domain_uid, const std::string& ns,
                         const std::string& version) {
  Value rendered = Render({.ns = ns, .name = api::DaemonName(domain_uid)}, domain_uid,
                          api::kTargetDaemon, "daemon", api::kDaemonDeviceClass,
                          Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                         {"kind", api::kDaemonConfigKind},
                                         {"domainID", domain_uid}}),
                          version);
  // Selects the claims of one domain among all claims of the driver namespace.
  rendered["spec"]["metadata"]["labels"][std::string(api::kDomainLabel)] = domain_uid;
  return rendered;
}

json::Value RenderWorkload(const api::ComputeDomain& domain, const std::optional<Gpus>& gpus,
                           const std::string& version) {
  Value rendered = Render({.ns = domain.meta.key.ns, .name = domain.template_name}, domain.meta.uid,
                          api::kTargetWorkload, "channel", api::kChannelDeviceClass,
                          Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                         {"kind", api::kChannelConfigKind},
                                         {"domainID", domain.meta.uid},
                                         {"allocationMode", domain.allocation_mode}}),
                          version);
  if (gpus) rendered["spec"]["spec"]["devices"]["requests"].Append(RenderGpus(*gpus, version));
  rendered["metadata"]["ownerReferences"] =
      Value::Array({Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                                   {"kind", api::kComputeDomains.kind},
                                   {"name", domain.meta.key.name},
                                   {"uid", domain.meta.uid},
                                   {"controller", true}})});
  return rendered;
}

}  // namespace resource_claim_template
