// The part of a hosts file that names a clique's peers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/imex/names.h"

namespace imex {

// A daemon of the clique. DnsName() makes its name from the index.
struct HostsEntry {
  int index = 0;
  std::string ip = {};
  friend bool operator==(const HostsEntry&, const HostsEntry&) = default;
};

// Address for an unused index. It leads back to this machine, but no network interface has it, so
// that IMEX does not take that index for its own. The reference's newer daemons write the same
// address.
inline constexpr std::string_view kNobody = "127.0.0.2";

// Returns whether `text` is an IPv4 or IPv6 address that a hosts file may have.
bool IsAddress(const std::string& text);

// Returns `text`, a hosts file, with one block at its end. Removes every other line that names a
// daemon, whichever program wrote it. All other lines stay as they are.
// The block has a line for each index of `names`, with its address in `hosts`, or else kNobody. So
// no lookup of these names reaches the cluster's DNS: IMEX repeats the lookup of each missing peer,
// and a name without a dot costs a query for each search domain. Idempotent, so the file does not
// grow. REQUIRES: addresses; indices below `names.count`.
std::string WithHosts(std::string_view text, const std::vector<HostsEntry>& hosts,
                      const NodeNames& names);

}  // namespace imex
