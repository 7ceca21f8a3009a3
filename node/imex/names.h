// Every name that IMEX, its control program and the other daemons of a clique rely on, once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace imex {

// In the folder that the kubelet plugin mounts.
inline constexpr std::string_view kTemplateFile = "imexd.cfg.tmpl";
inline constexpr std::string_view kConfigFile = "imexd.cfg";
inline constexpr std::string_view kNodesFile = "nodes.cfg";

// A daemon is known to its peers by its index, under a name of four digits.
inline constexpr int kNodesMax = 10'000;

// "compute-domain-daemon-0007". REQUIRES: 0 <= index < kNodesMax.
[[nodiscard]] std::string DnsName(int index);
// The index in such a name; nothing for any other text.
[[nodiscard]] std::optional<int> IndexOf(std::string_view name);

// The nodes file: the names of all indices below `nodes_max`, used or not, since IMEX drops
// what it wrote down of its importers if that file changes. REQUIRES: 0 < nodes_max <= kNodesMax.
[[nodiscard]] std::string RenderNodes(int nodes_max);

}  // namespace imex
