#include "test/cluster/nodesim/addresses.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "test/cluster/nodesim/seeded_random.h"

namespace nodesim {

namespace {

constexpr std::uint32_t kHostsPerNet = 254;                 // .1 to .254
constexpr std::uint32_t kShare = 16U * 256 * kHostsPerNet;  // A sixteenth of 10.0.0.0/8.

// The number of an address of 10.0.0.0/8; nothing for another.
std::optional<std::uint32_t> NumberOf(std::string_view ip) {
  std::uint32_t parts[4] = {};
  const char* at = ip.data();
  const char* const end = ip.data() + ip.size();
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc() || parts[i] > 255) return std::nullopt;
    at = next;
  }
  if (at != end || parts[0] != 10 || parts[3] < 1 || parts[3] > kHostsPerNet) return std::nullopt;
  return (parts[1] * 256 + parts[2]) * kHostsPerNet + parts[3] - 1;
}

std::string ToIp(std::uint32_t number) {
  const std::uint32_t net = number / kHostsPerNet;
  return "10." + std::to_string(net / 256) + "." + std::to_string(net % 256) + "." +
         std::to_string(number % kHostsPerNet + 1);
}

std::uint32_t BeginOf(std::string_view node_prefix) {
  SeededRandom random(0, node_prefix);
  return static_cast<std::uint32_t>(random.Next() % 16) * kShare;
}

}  // namespace

PodAddresses::PodAddresses(std::string_view node_prefix) : begin_(BeginOf(node_prefix)) {}

void PodAddresses::Skip(std::string_view ip) {
  const auto number = NumberOf(ip);
  if (!number || *number < begin_ || *number >= begin_ + kShare) return;
  next_.With([&](std::uint32_t& next) { next = std::max(next, *number - begin_ + 1); });
}

std::string PodAddresses::Next() {
  return next_.With([&](std::uint32_t& next) { return ToIp(begin_ + next++ % kShare); });
}

}  // namespace nodesim
