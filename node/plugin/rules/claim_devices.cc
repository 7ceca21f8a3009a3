#include "node/plugin/rules/claim_devices.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "node/plugin/rules/cdi_names.h"

namespace plugin {

namespace {

constexpr std::string_view kChannelPath = "/dev/nvidia-caps-imex-channels/channel";
constexpr std::string_view kCapabilityPath = "/dev/nvidia-caps/nvidia-cap";

cdi::DeviceNode ChannelNode(const NodeIdentity& self, std::int64_t id) {
  std::string path = std::string(kChannelPath) + std::to_string(id);
  return {.path = path, .host_path = path, .major = self.channel_major, .minor = id};
}

cdi::Edits ChannelEdits(const NodeIdentity& self, const Wanted& wanted) {
  cdi::Edits edits;
  if (!wanted.config.all_channels || self.host_managed) {
    edits.nodes.push_back(ChannelNode(self, wanted.name.id));
    return edits;
  }
  for (std::int64_t id = 0; id < kChannels; ++id) edits.nodes.push_back(ChannelNode(self, id));
  std::ranges::sort(edits.nodes, {}, &cdi::DeviceNode::path);
  return edits;
}

cdi::Edits DaemonEdits(const NodeIdentity& self, const DomainIdentity& domain) {
  cdi::Edits edits = {
      .env = {"CLIQUE_ID=" + self.clique, "COMPUTE_DOMAIN_UUID=" + domain.uid,
              "COMPUTE_DOMAIN_NAME=" + domain.name, "COMPUTE_DOMAIN_NAMESPACE=" + domain.ns},
      .mounts = {{.host_path = self.folder + "/domains/" + domain.uid,
                  .container_path = "/imexd",
                  .options = {"rw", "nosuid", "nodev", "bind"}}}};
  if (!self.clique.empty() && self.management) edits.nodes.push_back(*self.management);
  return edits;
}

// Without a fabric a channel is of no use, so none is injected.
bool HasOwnDevice(const NodeIdentity& self, const Wanted& wanted) {
  return wanted.name.type == DeviceType::kDaemon || !self.clique.empty();
}

std::string DeviceNameOf(const std::string& uid, const Wanted& wanted) {
  return uid + "-" + wanted.device.device;
}

}  // namespace

PreparedGroup GroupOf(const NodeIdentity& self, const std::string& uid, const Wanted& wanted) {
  const bool is_daemon = wanted.name.type == DeviceType::kDaemon;
  PreparedDevice device = {.type = wanted.name.type,
                           .id = wanted.name.id,
                           .requests = {wanted.device.request},
                           .pool = wanted.device.pool,
                           .name = wanted.device.device};
  if (is_daemon) device.cdi_ids.push_back(std::string(kBaseDevice));
  if (HasOwnDevice(self, wanted)) {
    device.cdi_ids.push_back(std::string(kClaimKind) + "=" + DeviceNameOf(uid, wanted));
  }
  return {.devices = {std::move(device)}, .type = wanted.name.type, .domain = wanted.config.domain};
}

cdi::Spec SpecOf(const NodeIdentity& self, const std::string& uid, const Wanted& wanted,
                 const DomainIdentity& domain) {
  cdi::Spec spec = {.kind = std::string(kClaimKind)};
  if (!HasOwnDevice(self, wanted)) return spec;
  const bool is_daemon = wanted.name.type == DeviceType::kDaemon;
  spec.devices.push_back(
      {.name = DeviceNameOf(uid, wanted),
       .edits = is_daemon ? DaemonEdits(self, domain) : ChannelEdits(self, wanted)});
  return spec;
}

cdi::Spec WithDeviceNumbers(const NodeIdentity& self, cdi::Spec spec) {
  for (cdi::Device& device : spec.devices) {
    for (cdi::DeviceNode& node : device.edits.nodes) {
      if (node.path.starts_with(kChannelPath)) node.major = self.channel_major;
      if (node.path.starts_with(kCapabilityPath) && self.management) node = *self.management;
    }
  }
  return spec;
}

}  // namespace plugin
