// Names that IMEX, nvidia-imex-ctl and the daemons share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace imex {

// In the folder that the kubelet plugin mounts.
inline constexpr std::string_view kTemplateFile = "imexd.cfg.tmpl";
inline constexpr std::string_view kConfigFile = "imexd.cfg";
inline constexpr std::string_view kNodesFile = "nodes.cfg";

// Maximum number of daemons: their names have an index of four digits.
inline constexpr int kNodesMax = 10'000;

// Returns a name such as "compute-domain-daemon-0007". REQUIRES: 0 <= index < kNodesMax.
[[nodiscard]] std::string DnsName(int index);
// Returns the index in such a name. Empty for any other text.
[[nodiscard]] std::optional<int> IndexOf(std::string_view name);

// Returns the nodes file: the names of all indices below `nodes_max`, used or not. It must not
// change, because IMEX then drops its records of importers. REQUIRES: 0 < nodes_max <= kNodesMax.
[[nodiscard]] std::string RenderNodes(int nodes_max);

}  // namespace imex
