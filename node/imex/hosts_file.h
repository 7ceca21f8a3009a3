// The lines of a hosts file that say where the peers of a clique are. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace imex {

// A daemon of the clique, by the name that DnsName makes of its index.
struct Host {
  int index = 0;
  std::string ip = {};
  friend bool operator==(const Host&, const Host&) = default;
};

// Whether `text` is an IPv4 or IPv6 address as a hosts file may have it.
[[nodiscard]] bool IsAddress(const std::string& text);

// `text`, a hosts file, with one block at its end for `hosts` and no other line that names a
// daemon, whoever wrote it. Everybody else's lines stay as they are. Applied to its own result it
// changes nothing, so that the file does not grow. REQUIRES: addresses, and indices of DnsName.
[[nodiscard]] std::string WithHosts(std::string_view text, const std::vector<Host>& hosts);

}  // namespace imex
