// A daemon's IMEX report, in an annotation on its own pod.
// The daemon writes it and the controller reads it. Anyone with the daemon's token can write
// anything there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace api {

inline constexpr std::string_view kImexAnnotation = "cdom.dev/imex";

inline constexpr std::string_view kImexReady = "READY";
inline constexpr std::string_view kImexEnded = "ENDED";  // IMEX has stopped.
// States before the first READY: IMEX waits until enough peers have connected, or have returned.
inline constexpr std::string_view kImexWaitingForPeers = "WAITING_FOR_PEERS";
inline constexpr std::string_view kImexWaitingForRecovery = "WAITING_FOR_RECOVERY";

struct ImexReport {
  int index = -1;            // Index with which IMEX says it runs; -1 if it has not said so.
  std::string state = {};    // One upper-case word from nvidia-imex-ctl -q, or kImexEnded.
  std::string version = {};  // Version of IMEX. Empty if it is not known.
  std::string started = {};  // Start of this IMEX instance, RFC 3339.
  int restarts = 0;          // Restarts in this container after IMEX exited by itself.
  bool in_use = false;       // IMEX reported that another process on its host uses its resources.
  // Indices of peers that have had an address for 15 s and are not connected, in ascending order.
  // `unreachable` has the first few of them, `unreachable_count` is their number.
  std::vector<int> unreachable = {};
  int unreachable_count = 0;
  bool peers_known = false;  // False if nothing is known about the peers.
  // Three status queries in a row had no answer in time. This IMEX hangs, or that of a peer,
  // because the control program asks all peers.
  bool peers_unanswered = false;
  friend bool operator==(const ImexReport&, const ImexReport&) = default;
};

inline constexpr std::size_t kUnreachableMax = 16;

// Returns the report as JSON, at most 1 KiB.
std::string Encode(const ImexReport& report);
// Returns the report in `text`. Empty if cdom's daemon cannot have written it. Words longer than 32
// bytes, or with unexpected characters, become empty. Numbers out of range become their defaults.
std::optional<ImexReport> DecodeImexReport(std::string_view text);

}  // namespace api
