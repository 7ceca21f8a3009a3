// The NVLink clique of a node, from NVML's data. Pure.
//
// library.h reads that data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace nvml {

// The fabric of one GPU.
struct Fabric {
  // Numbers are NVML's.
  enum class State { kNotSupported = 0, kNotStarted = 1, kInProgress = 2, kCompleted = 3 };
  int gpu = 0;  // Index of the GPU.
  State state = State::kNotSupported;
  int status = 0;  // Result of joining. 0 means success.
  std::array<std::uint8_t, 16> cluster = {};
  std::uint32_t clique = 0;
  std::uint32_t health = 0;  // NVML's mask of conditions. 0 if the driver reports none.
  friend bool operator==(const Fabric&, const Fabric&) = default;
};

enum class Strictness {
  kAllAttached,    // A GPU that has not joined its fabric is an error.
  kCompletedOnes,  // A GPU that has not joined is ignored, unless joining failed.
  kOnlyAttached    // A GPU that has not joined is ignored.
};

// Returns the clique of a GPU as "<uuid>.<n>", all zeros if NVML reports none.
std::string NameOf(const Fabric& fabric);

// Returns the clique of the node, "<uuid>.<n>". Empty if no GPU counts as attached to a fabric.
// With kAllAttached, returns kUnavailable while a GPU is still joining: retry. Returns kInvalid,
// with the reason, if joining failed or GPUs are in different cliques.
base::Result<std::string> CliqueOf(const std::vector<Fabric>& gpus, Strictness strictness);

// Returns what NVML reports about the fabric's health: "GPU 0: degraded bandwidth". Empty if it is
// good or unknown. A GPU with a report may still work.
std::string HealthTrouble(const std::vector<Fabric>& gpus);

// Returns whether the driver is 570.158.01 or newer: its IMEX finds peers by name.
bool KnowsNames(std::string_view driver_version);

}  // namespace nvml
