// The NVLink clique of a node, out of what NVML says of its GPUs. Pure; library.h has NVML.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace nvml {

// Of one GPU.
struct Fabric {
  // With the numbers of NVML.
  enum class State { kNotSupported = 0, kNotStarted = 1, kInProgress = 2, kCompleted = 3 };
  int gpu = 0;  // Its index.
  State state = State::kNotSupported;
  int status = 0;  // How joining it ended: 0 is well.
  std::array<std::uint8_t, 16> cluster = {};
  std::uint32_t clique = 0;
  std::uint32_t health = 0;  // NVML's mask of conditions. 0 if the driver does not tell.
  friend bool operator==(const Fabric&, const Fabric&) = default;
};

enum class Strictness {
  kAllAttached,    // A GPU that has not joined its fabric is an error.
  kCompletedOnes,  // It is left out, unless it failed to join.
  kOnlyAttached    // It is left out.
};

// Returns the clique of a GPU as "<uuid>.<n>", of zeros where NVML says none.
[[nodiscard]] std::string NameOf(const Fabric& fabric);

// "<uuid>.<n>"; empty: the node has no fabric, which one that still forms is not. kUnavailable: it
// still forms, ask again. kInvalid: something is wrong with it, in words.
[[nodiscard]] base::Result<std::string> CliqueOf(const std::vector<Fabric>& gpus,
                                                 Strictness strictness);

// Returns what NVML reports of the fabric's health, as "GPU 0: degraded bandwidth". Empty if all is
// well, or not known. Such a GPU may serve all the same.
[[nodiscard]] std::string HealthTrouble(const std::vector<Fabric>& gpus);

// Whether the driver is at least the one whose IMEX is told peers by their names, "570.158.01".
[[nodiscard]] bool KnowsNames(std::string_view driver_version);

}  // namespace nvml
