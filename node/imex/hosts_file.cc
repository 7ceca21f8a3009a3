#include "node/imex/hosts_file.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

#include "pkg/base/check.h"
#include "pkg/base/text.h"

namespace imex {

namespace {

constexpr std::string_view kBegin =
    "# IMEX daemons of this clique; compute-domain-daemon writes this";
constexpr std::string_view kEnd = "# End of the IMEX daemons";
constexpr std::string_view kBlank = " \t\r";

// Returns the next word of a line. Empty at its end, or at a comment.
std::string_view NextWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r#"));
  line.remove_prefix(word.size());
  return word;
}

bool NamesADaemon(std::string_view line) {
  static_cast<void>(NextWord(line));  // The address.
  for (std::string_view name = NextWord(line); !name.empty(); name = NextWord(line)) {
    if (IsDnsName(name)) return true;
  }
  return false;
}

}  // namespace

bool IsAddress(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> parsed = {};
  // inet_pton ignores everything after the first zero byte.
  if (text.find('\0') != std::string::npos) return false;
  return ::inet_pton(AF_INET, text.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), parsed.data()) == 1;
}

std::string WithHosts(std::string_view text, const std::vector<HostsEntry>& hosts,
                      const NodeNames& names) {
  std::vector<std::string_view> addresses(static_cast<std::size_t>(names.count), kNobody);
  for (const HostsEntry& host : hosts) {
    CHECK(IsAddress(host.ip));  // Else a clique entry could add other lines.
    CHECK(host.index >= 0 && host.index < names.count);
    addresses[static_cast<std::size_t>(host.index)] = host.ip;
  }
  std::string written;
  while (!text.empty()) {
    const std::string_view line = base::TakePart(text, '\n');
    if (line == kBegin || line == kEnd || NamesADaemon(line)) continue;
    written.append(line).append("\n");
  }
  if (addresses.empty()) return written;
  written.append(kBegin).append("\n");
  for (int index = 0; index < names.count; ++index) {
    const std::string_view address = addresses[static_cast<std::size_t>(index)];
    written.append(address).append("\t").append(DnsName(names.prefix, index)).append("\n");
  }
  return written.append(kEnd).append("\n");
}

}  // namespace imex
