// A CDI spec: what a container runtime adds for a device. Pure.
//
// files.h reads and writes the files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace cdi {

// The oldest version of the CDI specification that has every field used here.
inline constexpr std::string_view kVersion = "0.5.0";

// A character device. The runtime creates it from major and minor; the host need not have it.
struct DeviceNode {
  std::string path = {};
  std::string host_path = {};
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::int64_t mode = 0666;
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

struct Hook {
  std::string name = {};
  std::string path = {};
  std::vector<std::string> args = {};
  std::vector<std::string> env = {};
  friend bool operator==(const Hook&, const Hook&) = default;
};

struct Mount {
  std::string host_path = {};
  std::string container_path = {};
  std::vector<std::string> options = {};
  friend bool operator==(const Mount&, const Mount&) = default;
};

struct Edits {
  std::vector<std::string> env = {};  // "NAME=value".
  std::vector<DeviceNode> nodes = {};
  std::vector<Hook> hooks = {};
  std::vector<Mount> mounts = {};
  friend bool operator==(const Edits&, const Edits&) = default;
};

struct Device {
  std::string name = {};
  Edits edits = {};
  friend bool operator==(const Device&, const Device&) = default;
};

struct Spec {
  std::string kind = {};  // "<vendor>/<class>".
  std::vector<Device> devices = {};
  Edits edits = {};  // Apply to every device.
  friend bool operator==(const Spec&, const Spec&) = default;
};

// Returns the spec as JSON, on one line. JSON is YAML, which is what runtimes and NVIDIA's plugin
// read.
std::string Render(const Spec& spec);

// Parses YAML or JSON. Returns kInvalid, with the place, if it is neither. The same if it has
// content that a Spec cannot hold, because writing the spec again would lose it.
base::Result<Spec> Parse(const std::string& text, const std::string& file);

}  // namespace cdi
