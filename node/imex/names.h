// Names that IMEX, nvidia-imex-ctl and the daemons share.
#pragma once

#include <string>
#include <string_view>

namespace imex {

// In the folder that the kubelet plugin mounts.
inline constexpr std::string_view kTemplateFile = "imexd.cfg.tmpl";
inline constexpr std::string_view kConfigFile = "imexd.cfg";
inline constexpr std::string_view kNodesFile = "nodes.cfg";

// Maximum number of daemons: their names have an index of four digits.
inline constexpr int kNodesMax = 10'000;

// The names of a domain's daemons. IMEX connects to a peer only if both have the same nodes file,
// so all daemons of a domain need equal names, and daemons of two domains different ones: an
// address of one may become an address of the other.
struct NodeNames {
  std::string prefix = {};
  int count = 18;  // The number of indices, used or not. 0 < count <= kNodesMax.
};

// Prefix that does not depend on the domain, as daemons of NVIDIA before 0.6 have it.
inline constexpr std::string_view kSharedPrefix = "compute-domain-daemon-";
// Returns a prefix such as "compute-domain-daemon-0a1b2c3d-", with a hash of the domain's UID. The
// form is that of NVIDIA's daemons from 0.6 on, the hash is not.
std::string PrefixOf(std::string_view domain);

// Returns a name such as "compute-domain-daemon-0a1b2c3d-0007". REQUIRES: 0 <= index < kNodesMax.
std::string DnsName(std::string_view prefix, int index);
// Returns whether the text is such a name, with either prefix, of any domain.
bool IsDnsName(std::string_view text);

// Returns the nodes file: the names of all indices, used or not. It must not change, because IMEX
// then drops its records of importers.
std::string RenderNodes(const NodeNames& names);

}  // namespace imex
