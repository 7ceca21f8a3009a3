// Parses the output of nvidia-imex-ctl and IMEX's log lines. Pure.
//
// The formats are those of IMEX 580. The input is untrusted.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "controller/api/imex_report.h"
#include "pkg/base/result.h"

namespace imex {

inline constexpr std::string_view kReady = api::kImexReady;
inline constexpr std::string_view kUnknown = "UNKNOWN";

// Returns whether the output of `-q` says exactly that IMEX is ready.
bool SaysReady(std::string_view printed);
// Returns the state in the output of `-q`: one word of capitals, or kUnknown.
std::string StateIn(std::string_view printed);

// The daemon's own part of the output of `-N -j`. The rest is about other daemons, and not from
// them.
struct OwnView {
  std::string version = {};      // IMEX's version, at most 32 bytes.
  std::set<int> connected = {};  // Indices of peers.
  friend bool operator==(const OwnView&, const OwnView&) = default;
};
// Returns kInvalid if it is not the expected JSON. Returns kNotFound if it has no `index`.
base::Result<OwnView> ParseOwnView(std::string_view printed, int index);

// Returns the index that IMEX says it runs with. Empty if this log line does not say so.
std::optional<int> IndexInLine(std::string_view line);
// Returns whether this line says that another process, such as a service of the host, uses the
// resources that IMEX needs.
bool SaysInUse(std::string_view line);

}  // namespace imex
