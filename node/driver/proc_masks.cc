#include "node/driver/proc_masks.h"

#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string_view>
#include <system_error>

#include "pkg/base/file.h"

namespace driver {

namespace {

constexpr const char* kMounts = "/proc/self/mountinfo";
constexpr std::size_t kMountsMax = 8U << 20;
constexpr const char* kAdvice =
    "the plugin may read wrong data about the driver: run the plugin with "
    "NVIDIA_VISIBLE_DEVICES=void";

// Decodes a field as the kernel writes it: \ooo stands for characters that end a field.
std::string Unescape(std::string_view text) {
  constexpr std::size_t kEscape = 4;
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  while (!text.empty()) {
    const bool is_escape = text.size() >= kEscape && text[0] == '\\' &&
                           std::ranges::all_of(text.substr(1, kEscape - 1), is_octal);
    if (is_escape) {
      plain += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
      text.remove_prefix(kEscape);
    } else {
      plain += text[0];
      text.remove_prefix(1);
    }
  }
  return plain;
}

}  // namespace

std::vector<std::string> ProcMasks(const std::string& mountinfo) {
  const std::string below = std::string(kDriverProc) + "/";
  std::vector<std::string> points;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string skipped;  // The fields before it: two IDs, a device, and the root of the mount.
    std::string point;
    if (!(fields >> skipped >> skipped >> skipped >> skipped >> point)) continue;
    point = Unescape(point);
    if (point.starts_with(below) && point != below + "params") points.push_back(std::move(point));
  }
  std::ranges::reverse(points);
  return points;
}

void UnmountProcMasks(base::Logger& logger) {
  const auto mounts = base::ReadFile(kMounts, kMountsMax);
  if (!mounts) {
    logger.Warning("Cannot read the list of mounts",
                   {{"error", mounts.error().message}, {"advice", kAdvice}});
    return;
  }
  for (const std::string& point : ProcMasks(*mounts)) {
    if (::umount2(point.c_str(), MNT_DETACH) == 0) {
      logger.Info("Unmounted a file that hid the driver's file in this container",
                  {{"file", point}});
    } else {
      logger.Warning("Cannot unmount the file that hides the driver's file in this container",
                     {{"file", point},
                      {"error", std::generic_category().message(errno)},
                      {"advice", kAdvice}});
    }
  }
}

}  // namespace driver
