// What IMEX says of itself: answers of its control program, and lines of its log. Pure.
//
// The forms are those of IMEX 580; every byte of them may be anything.
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

// Whether `-q` printed exactly that it is ready.
[[nodiscard]] bool SaysReady(std::string_view printed);
// The state that `-q` printed: one word of capitals; else kUnknown.
[[nodiscard]] std::string StateIn(std::string_view printed);

// Of what `-N -j` prints, the daemon's own part: what is said of the others is not their word.
struct OwnView {
  std::string version = {};      // Of IMEX, at most 32 bytes.
  std::set<int> connected = {};  // Indices of peers.
  friend bool operator==(const OwnView&, const OwnView&) = default;
};
// kInvalid: it is no such JSON. kNotFound: there is nothing under `index` in it.
[[nodiscard]] base::Result<OwnView> ParseOwnView(std::string_view printed, int index);

// The index under which IMEX says that it runs, if this line of its log says so.
[[nodiscard]] std::optional<int> IndexInLine(std::string_view line);
// Whether this line says that somebody else has its resources, as a service of the host does.
[[nodiscard]] bool SaysInUse(std::string_view line);

}  // namespace imex
