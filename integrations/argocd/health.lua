-- Health of a ComputeDomain, for Argo CD. docs/gitops.md says how it is judged, and why.

-- Reasons of Accepted and Ready after which a person must act. All others pass by themselves.
local needs_a_person = {
  SpecMissing = true,
  TemplateNameInvalid = true,
  TemplateNameTaken = true,
  AnnotationInvalid = true,
  DRANotServed = true,
  PermissionMissing = true,
  Forbidden = true,
  ProvisioningFailed = true,
  CliqueFull = true,
  NodeLost = true,
  NodeDrained = true,
  NodeTainted = true,
  PluginMissing = true,
  PodsStuckTerminating = true,
  FabricError = true,
  ImexOnHost = true,
  ImexAddressDiffers = true,
  ImexIndexDiffers = true,
  ImexPeersUnreachable = true,
  ImexRestartedUnderJob = true,
  MembersNotReady = true,
  SpansCliques = true,
  ChannelHeldByUnrelatedClaim = true,
  NoPlugin = true,
  NoNodeHasGpus = true,
}

local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local accepted, ready = conditions.Accepted, conditions.Ready

if accepted == nil or ready == nil then
  -- Under NVIDIA's CRD only this field exists.
  if status.status == "Ready" then
    return {status = "Healthy", message = ""}
  end
  return {status = "Progressing", message = "Waiting for the controller"}
end
if status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "Waiting for the controller"}
end
if needs_a_person[accepted.reason] then
  return {status = "Degraded", message = accepted.message}
end
if needs_a_person[ready.reason] then
  return {status = "Degraded", message = ready.message}
end
if accepted.reason == "Paused" then
  return {status = "Suspended", message = accepted.message}
end
if ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
return {status = "Progressing", message = ready.message}
