#include "node/driver/kernel.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "node/driver/files.h"
#include "node/nvml/library.h"
#include "pkg/base/file.h"
#include "pkg/base/number.h"
#include "pkg/base/subprocess.h"
#include "pkg/base/text.h"

namespace driver {

namespace {

using base::Result, base::Trim, base::Unavailable;

constexpr std::size_t kTextMax = 64U << 10;
constexpr std::size_t kOutputMax = 4096;
constexpr std::chrono::seconds kProgramTime{5};

std::optional<std::int64_t> NumberIn(std::string_view text) {
  const auto number = base::ParseNumber<std::int32_t>(text);
  if (!number || *number < 0) return {};
  return *number;
}

}  // namespace

std::string DriverMark(const std::string& root, const std::vector<std::string>& folders,
                       const std::string& devices) {
  std::string mark = base::ReadFile(devices, kTextMax).value_or("");
  for (const std::string& gpu : FindGpus(root)) mark += " " + gpu;
  const auto library = nvml::FindLibrary(root, folders);
  struct stat file = {};
  if (!library || ::stat(library->c_str(), &file) != 0) return mark;
  for (const auto number : {static_cast<std::uint64_t>(file.st_dev), file.st_ino,
                            static_cast<std::uint64_t>(file.st_mtim.tv_sec),
                            static_cast<std::uint64_t>(file.st_mtim.tv_nsec)}) {
    mark += " " + std::to_string(number);
  }
  return mark + " " + *library;
}

std::optional<std::int64_t> MajorOf(std::string_view devices, std::string_view name) {
  bool is_character = false;
  while (!devices.empty()) {
    const std::string_view line = Trim(base::TakePart(devices, '\n'));
    if (line == "Character devices:") is_character = true;
    if (line == "Block devices:") is_character = false;
    const std::size_t gap = line.find(' ');
    if (!is_character || gap == std::string_view::npos || Trim(line.substr(gap)) != name) continue;
    return NumberIn(line.substr(0, gap));
  }
  return {};
}

Result<cdi::DeviceNode> CapabilityIn(std::string_view text, std::int64_t major) {
  std::optional<std::int64_t> minor;
  std::optional<std::int64_t> mode;
  while (!text.empty()) {
    const std::string_view line = base::TakePart(text, '\n');
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = Trim(line.substr(0, colon));
    if (name == "DeviceFileMinor") minor = NumberIn(Trim(line.substr(colon + 1)));
    if (name == "DeviceFileMode") mode = NumberIn(Trim(line.substr(colon + 1)));
  }
  if (!minor || !mode) return Unavailable("it has no DeviceFileMinor and DeviceFileMode");
  std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor);
  return cdi::DeviceNode{
      .path = path, .host_path = path, .major = major, .minor = *minor, .mode = *mode};
}

std::optional<std::string> RunInRoot(const std::string& driver_root,
                                     const std::vector<std::string>& command,
                                     const base::Clock& clock, const std::stop_token& stop) {
  base::Program program = {.path = "/usr/sbin/chroot",
                           .arguments = {driver_root},
                           .environment = {"PATH=" + ProgramPath()}};
  program.arguments.insert(program.arguments.end(), command.begin(), command.end());
  auto end = base::RunProgram(program, {.time = kProgramTime, .output_bytes_max = kOutputMax},
                              clock, stop);
  if (!end || !end->Succeeded()) return {};
  return std::move(end->output);
}

}  // namespace driver
