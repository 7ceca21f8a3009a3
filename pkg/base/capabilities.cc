#include "pkg/base/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

namespace base {

namespace {

// A set of capabilities, one bit each. The kernel has it as two words of 32 bits.
using Set = std::uint64_t;
using Words = std::array<__user_cap_data_struct, 2>;
constexpr int kWordBits = 32;
constexpr int kSetBits = 64;

Set Bit(int capability) { return Set{1} << capability; }

tl::unexpected<Error> Refused(const char* call) {
  return Invalid(std::string(call) + ": " + std::generic_category().message(errno));
}

bool HasOneThread() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return !error && std::distance(begin(threads), end(threads)) == 1;
}

__user_cap_header_struct OwnHeader() { return {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0}; }

Result<Set> Permitted() {
  __user_cap_header_struct header = OwnHeader();
  Words words = {};
  if (::syscall(SYS_capget, &header, words.data()) != 0) return Refused("capget");
  return Set{words[1].permitted} << kWordBits | words[0].permitted;
}

// Limits what started programs may gain. The kernel refuses numbers after its last capability.
Result<void> DropFromBounds(Set kept) {
  for (int capability = 0; capability < kSetBits; ++capability) {
    if ((kept & Bit(capability)) != 0) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) return {};
    return Refused("prctl(PR_CAPBSET_DROP)");
  }
  return {};
}

}  // namespace

Result<void> KeepCapabilities(const std::vector<int>& kept) {
  if (!HasOneThread()) return Invalid("not the only thread");
  return KeepThreadCapabilities(kept);
}

Result<void> KeepThreadCapabilities(const std::vector<int>& kept) {
  const Set now = TRY(Permitted());
  Set next = 0;
  for (const int capability : kept) next |= now & Bit(capability);

  // Without this capability the bounds stay. Then only the call after this one keeps programs from
  // gaining privileges.
  if ((now & Bit(CAP_SETPCAP)) != 0) TRY(DropFromBounds(next));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Refused("prctl(PR_SET_NO_NEW_PRIVS)");
  const auto low = static_cast<std::uint32_t>(next);
  const auto high = static_cast<std::uint32_t>(next >> kWordBits);
  __user_cap_header_struct header = OwnHeader();
  const Words words = {{{.effective = low, .permitted = low, .inheritable = 0},
                        {.effective = high, .permitted = high, .inheritable = 0}}};
  if (::syscall(SYS_capset, &header, words.data()) != 0) return Refused("capset");
  return {};
}

}  // namespace base
