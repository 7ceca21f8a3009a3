// What a daemon says of its IMEX, in an annotation on its own pod: written by the daemon, read by
// the controller. Anyone with the daemon's token may write anything there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace api {

inline constexpr std::string_view kImexAnnotation = "cdom.dev/imex";

inline constexpr std::string_view kImexReady = "READY";
inline constexpr std::string_view kImexEnded = "ENDED";  // It does not run.
// States of an IMEX that was never ready: until enough of its peers are there, or are back.
inline constexpr std::string_view kImexWaitingForPeers = "WAITING_FOR_PEERS";
inline constexpr std::string_view kImexWaitingForRecovery = "WAITING_FOR_RECOVERY";

struct ImexReport {
  int index = -1;            // That IMEX says it runs with; -1: it has not said so.
  std::string state = {};    // One word of capitals, as nvidia-imex-ctl -q has it; or kImexEnded.
  std::string version = {};  // Of IMEX; empty: not known.
  std::string started = {};  // When this instance of it was, RFC 3339.
  int restarts = 0;     // How often it ended by itself and was started again, in this container.
  bool in_use = false;  // It said that somebody else on its host has its resources.
  // Indices of peers that have had an address for 15 s and have no connection, the lowest first:
  // the first few, and how many they are in all.
  std::vector<int> unreachable = {};
  int unreachable_count = 0;
  bool peers_known = false;  // Else nothing could be learned of them.
  // IMEX did not say for some time, three times in a row, whom it reaches: it hangs, or a peer's
  // does, since its control program asks them all.
  bool peers_unanswered = false;
  friend bool operator==(const ImexReport&, const ImexReport&) = default;
};

inline constexpr std::size_t kUnreachableMax = 16;

// At most 1 KiB.
[[nodiscard]] std::string Encode(const ImexReport& report);
// Nothing for what no daemon of ours writes. Words have no more than 32 bytes of their alphabet,
// and numbers are within their bounds.
[[nodiscard]] std::optional<ImexReport> DecodeImexReport(std::string_view text);

}  // namespace api
