// The lines of a hosts file that say where the peers of a clique are. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace imex {

// A daemon of the clique, by the name that DnsName makes of its index.
struct HostsEntry {
  int index = 0;
  std::string ip = {};
  friend bool operator==(const HostsEntry&, const HostsEntry&) = default;
};

// Address of an index that no daemon has: it leads back to this machine, and no network interface
// has it, so that IMEX does not take that index for its own. The reference's newer daemons write
// the same one.
inline constexpr std::string_view kNobody = "127.0.0.2";

// Whether `text` is an IPv4 or IPv6 address as a hosts file may have it.
[[nodiscard]] bool IsAddress(const std::string& text);

// Returns `text`, a hosts file, with one block at its end and no other line that names a daemon,
// no matter which program wrote it. The block has a line for each index below `nodes_max`: with its
// address in `hosts`, or else with kNobody. So no name of the nodes file reaches the cluster's DNS:
// IMEX looks up each peer that it lacks again and again, and a name without a dot costs a query for
// each search domain. Everybody else's lines stay as they are. Applied to its own result it changes
// nothing, so that the file does not grow. REQUIRES: addresses; indices below `nodes_max`, which is
// at most kNodesMax.
[[nodiscard]] std::string WithHosts(std::string_view text, const std::vector<HostsEntry>& hosts,
                                    int nodes_max);

}  // namespace imex
