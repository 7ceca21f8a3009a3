// A stand-in for nvidia-imex, which needs a GPU: see README.md. It finds out who it is and where
// its peers are as that does, at its start and at SIGUSR1, and talks to them.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/cluster/stubs/imex/config.h"
#include "test/cluster/stubs/imex/net.h"
#include "test/cluster/stubs/imex/persist.h"

namespace {

using standin::Config;
using standin::Quorum;
using std::chrono::steady_clock;

constexpr auto kDeaf = std::chrono::seconds(5);  // After a SIGUSR1, as the real one.
constexpr auto kTryAgain = std::chrono::milliseconds(250);
constexpr int kFailed = 1;  // The status with which it ends by itself.

// In the order in which IMEX comes through them.
enum class State {
  kInitializing,
  kStartingAuthServer,
  kWaitingForPeers,
  kWaitingForRecovery,
  kInitGpu,
  kReady,
  kShuttingDown,
};
constexpr std::array<const char*, 7> kStateNames = {
    "INITIALIZING", "STARTING_AUTH_SERVER", "WAITING_FOR_PEERS", "WAITING_FOR_RECOVERY", "INIT_GPU",
    "READY",        "SHUTTING_DOWN"};
std::string NameOf(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

int signal_pipe = -1;
void OnSignal(int signal) {
  const char byte = signal == SIGUSR1 ? 'u' : 't';
  const ssize_t written = ::write(signal_pipe, &byte, 1);  // One that is full says enough.
  static_cast<void>(written);
}

int log_level = 4;  // LOG_LEVEL.
int LevelOf(const char* level) { return std::strcmp(level, "ERROR") == 0 ? 2 : 4; }

__attribute__((format(printf, 2, 3))) void Log(const char* level, const char* format, ...) {
  if (LevelOf(level) > log_level) return;
  std::array<char, 512> text = {};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "[%s] [tid %d] %s\n", level, static_cast<int>(::getpid()), text.data());
}

// Our connection to a peer.
struct Peer {
  std::string name = {};
  std::string ip = {};  // As it was resolved last; empty: no address.
  int fd = -1;
  bool greeted = false;
  bool connected = false;
  std::string words = {};
  std::string instance = {};  // Of the peer, that we were connected with last.
  std::string refusal = {};   // What it answered last in place of a connection.
  std::optional<steady_clock::time_point> lost = {};  // Since when, while its session stands.
  steady_clock::time_point next = {};
};

// Somebody's connection to us.
struct Guest {
  int fd = -1;
  bool asks = false;  // At the command port.
  std::string words = {};
};

class Standin {
 public:
  explicit Standin(Config config)
      : config_(std::move(config)), recovers_(standin::ReadImporters(config_)) {
    if (config_.quorum != Quorum::kRecovery) recovers_.clear();
    instance_ = std::to_string(::getpid()) + "." +
                std::to_string(steady_clock::now().time_since_epoch().count());
  }

  // Ends the process if it finds that it cannot run.
  void Begin() {
    for (const std::string& name : config_.names) peers_.push_back({.name = name});
    Resolve();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (peers_[i].ip == config_.own_ip) own_ = static_cast<int>(i);
    }
    if (own_ < 0) {
      Log("ERROR", "No matching network interface found for any node");
      std::exit(kFailed);
    }
    Log("INFO", "Identified this node as ID %d, using bind address of '%s'", own_,
        peers_[static_cast<std::size_t>(own_)].name.c_str());
    listener_ = standin::Listen(config_.own_ip, config_.port);
    if (config_.has_commands) cmd_listener_ = standin::Listen(config_.own_ip, config_.cmd_port);
    if (listener_ < 0 || (config_.has_commands && cmd_listener_ < 0)) {
      Log("ERROR", "Address already in use");
      std::exit(kFailed);
    }
    began_ = steady_clock::now();
    if (config_.quorum != Quorum::kFull) {
      Log("INFO",
          "IMEX_WAIT_FOR_QUORUM != FULL, continuing initialization without waiting for connections "
          "to all nodes.");
    }
  }

  // Returns at the end, with the status for the process.
  int Run(int signals) {
    while (true) {
      GoOn();
      std::vector<pollfd> fds = {Of(signals, POLLIN), Of(cmd_listener_, POLLIN)};
      if (Connects()) fds.push_back(Of(listener_, POLLIN));
      for (Peer& peer : peers_) {
        if (peer.fd >= 0) fds.push_back(Of(peer.fd, peer.greeted ? POLLIN : POLLOUT));
      }
      for (const Guest& guest : guests_) fds.push_back(Of(guest.fd, POLLIN));
      ::poll(fds.data(), fds.size(), 50);
      if (!TakeSignals(signals)) state_ = State::kShuttingDown;
      if (state_ == State::kShuttingDown && !IsHeld()) return SayGoodbye();
      if (HasFailed()) return kFailed;
      NoteImporters();
      Accept(cmd_listener_, true);
      if (Connects()) Meet();
      guests_.remove_if([this](Guest& guest) { return !Serve(guest); });
    }
  }

 private:
  // Whether it has come so far that it talks to peers.
  bool Connects() const { return state_ >= State::kWaitingForPeers; }
  // Whether a test holds it in its state.
  bool IsHeld() const { return standin::StateAskedFor() == NameOf(state_); }

  void Meet() {
    Accept(listener_, false);
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (static_cast<int>(i) != own_) Advance(static_cast<int>(i), peers_[i]);
    }
  }

  // Through its states until it is READY, as far as it may.
  void GoOn() {
    while (state_ < State::kReady && HasDone(state_) && !IsHeld()) {
      state_ = static_cast<State>(static_cast<int>(state_) + 1);
      if (state_ != State::kReady) continue;
      NoteImporters();  // What it keeps is there before anybody hears that it is READY.
      Log("INFO", "IMEX is READY");
    }
  }
  bool HasDone(State state) const {
    const auto is_connected = [this](int index) {
      return index == own_ || peers_[static_cast<std::size_t>(index)].connected;
    };
    if (state == State::kWaitingForRecovery) return std::ranges::all_of(recovers_, is_connected);
    if (state != State::kWaitingForPeers || config_.quorum != Quorum::kFull) return true;
    for (int index = 0; index < static_cast<int>(peers_.size()); ++index) {
      if (!is_connected(index)) return false;
    }
    return true;
  }

  // Whether it ends with an error; it has then said so.
  bool HasFailed() const {
    if (const std::string failure = standin::FailureAskedFor(); !failure.empty()) {
      Log("ERROR", "%s", failure.c_str());
      return true;
    }
    if (state_ != State::kWaitingForPeers || config_.quorum != Quorum::kFull ||
        steady_clock::now() < began_ + config_.quorum_time) {
      return false;
    }
    Log("ERROR", "Not all nodes have connected within IMEX_CONN_WAIT_TIMEOUT");
    return true;
  }
  int SayGoodbye() {
    standin::NoteImporters(config_, {});
    Log("INFO", "Shutting down");
    return 0;
  }
  // What was noted before stays until it has recovered.
  void NoteImporters() {
    if (state_ != State::kReady) return;
    const std::set<int> importers = standin::Importers();
    if (noted_ == importers) return;
    standin::NoteImporters(config_, importers);
    noted_ = importers;
  }

  static pollfd Of(int fd, int events) {
    return {.fd = fd, .events = static_cast<short>(events), .revents = 0};
  }

  void Resolve() {
    const auto hosts = standin::ReadHosts();
    for (Peer& peer : peers_) {
      const auto found = hosts.find(peer.name);
      peer.ip = found == hosts.end() ? "" : found->second;
    }
  }

  // False: it is over.
  bool TakeSignals(int signals) {
    char byte = 0;
    while (::read(signals, &byte, 1) == 1) {
      if (byte == 't') return false;
      const auto now = steady_clock::now();
      if (heard_ && now < *heard_ + kDeaf) {
        Log("INFO", "SIGUSR1 is ignored");
        continue;
      }
      heard_ = now;
      Log("INFO", "SIGUSR1: resolving names again");
      Resolve();
      for (Peer& peer : peers_) {
        // What stands stays, unless it leads elsewhere now.
        if (!peer.connected) Drop(peer, steady_clock::now());
      }
    }
    return true;
  }

  void Drop(Peer& peer, steady_clock::time_point next) {
    if (peer.fd >= 0) ::close(peer.fd);
    peer.fd = -1;
    peer.greeted = false;
    peer.words.clear();
    peer.next = next;
  }

  // How it talks to peers, which have to do the same.
  const char* Wire() const { return config_.encrypts ? "encrypted" : "clear"; }

  void EndSession(int index, Peer& peer) {
    if (!std::exchange(peer.lost, {})) return;
    Log("ERROR", "Session with node %d has ended: what was imported from it is lost", index);
  }

  void Advance(int index, Peer& peer) {
    const auto now = steady_clock::now();
    if (peer.lost && config_.grace_time && now >= *peer.lost + *config_.grace_time) {
      EndSession(index, peer);
    }
    if (peer.fd < 0) {
      if (peer.ip.empty() || now < peer.next) return;
      peer.fd = standin::Connect(config_.own_ip, peer.ip, config_.port);
      peer.next = now + kTryAgain;
      return;
    }
    if (!peer.greeted) {
      pollfd poll = Of(peer.fd, POLLOUT);
      if (::poll(&poll, 1, 0) <= 0) return;
      // Whom we mean goes along: who listens there may be somebody else.
      peer.greeted =
          standin::IsConnected(peer.fd) &&
          standin::Send(peer.fd, "HELLO " + std::to_string(own_) + " " + std::to_string(index) +
                                     " " + Wire() + " " + standin::HashOfNodes(config_) + "\n");
      if (!peer.greeted) Drop(peer, now + kTryAgain);
      return;
    }
    const bool lives = standin::Receive(peer.fd, peer.words);
    const std::size_t end = peer.words.find('\n');
    if (!peer.connected && end != std::string::npos) Answered(index, peer, end);
    if (lives) return;
    if (std::exchange(peer.connected, false)) {
      Log("INFO", "Connection lost to node %d: %s:%d", index, peer.ip.c_str(), config_.port);
      peer.lost = now;
    }
    Drop(peer, now + kTryAgain);
  }

  void Answered(int index, Peer& peer, std::size_t end) {
    const std::string line = peer.words.substr(0, end);
    peer.words.erase(0, end + 1);
    if (!line.starts_with("OK ")) {
      if (peer.refusal != line) Log("ERROR", "Node %d says: %s", index, line.c_str());
      peer.refusal = line;
      Drop(peer, steady_clock::now() + kTryAgain);
      return;
    }
    const std::string instance = line.substr(3);
    // The same instance still has what was imported from it.
    if (peer.instance != instance) EndSession(index, peer);
    peer.lost.reset();
    peer.refusal.clear();
    peer.connected = true;
    peer.instance = instance;
    Log("INFO", "Connection established to node %d with address %s", index, peer.ip.c_str());
  }

  void Accept(int listener, bool asks) {
    for (int fd = 0;
         (fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      guests_.push_back({.fd = fd, .asks = asks});
    }
  }

  // False: it is over.
  bool Serve(Guest& guest) {
    bool lives = standin::Receive(guest.fd, guest.words);
    const std::size_t end = guest.words.find('\n');
    if (end != std::string::npos) {
      const std::string line = guest.words.substr(0, end);
      guest.words.erase(0, end + 1);
      if (guest.asks && line != "q" && standin::IsToHang()) {
        return true;  // The client waits.
      }
      if (guest.asks) {
        standin::Send(guest.fd, line == "q" ? Said() + "\n" : OwnView());
        lives = false;
      } else {
        lives = Greet(guest, line) && lives;
      }
    }
    if (!lives) ::close(guest.fd);
    return lives;
  }

  bool Greet(const Guest& guest, const std::string& line) {
    int from = -1;
    int meant = -1;
    std::array<char, 16> wire = {};
    std::array<char, 24> nodes = {};
    if (std::sscanf(line.c_str(), "HELLO %d %d %15s %23s", &from, &meant, wire.data(),
                    nodes.data()) != 4) {
      return false;
    }
    if (standin::IsDeaf()) return false;
    if (meant != own_) {
      standin::Send(guest.fd, "WRONG this is node " + std::to_string(own_) + "\n");
      return false;
    }
    if (nodes.data() != standin::HashOfNodes(config_)) {
      standin::Send(guest.fd, "WRONG this node has another nodes file\n");
      return false;
    }
    if (std::strcmp(wire.data(), Wire()) != 0) {
      standin::Send(guest.fd, std::string("WRONG this node's traffic is ") + Wire() + "\n");
      return false;
    }
    return standin::Send(guest.fd, "OK " + instance_ + "\n");
  }

  // What it says of itself. A test may ask for another state once it is READY.
  std::string Said() const {
    const std::string asked_for = state_ == State::kReady ? standin::StateAskedFor() : "";
    return asked_for.empty() ? NameOf(state_) : asked_for;
  }

  // This node's part of what -N -j prints.
  std::string OwnView() {
    std::string connections;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const bool connected = static_cast<int>(i) == own_ || peers_[i].connected;
      connections += std::string(connections.empty() ? "" : ",") + "\"" + std::to_string(i) +
                     R"(":{"host":")" + peers_[i].name + R"(","status":")" +
                     (connected ? "CONNECTED" : "DISCONNECTED") + R"(","changed":true})";
    }
    return R"({"status":")" + Said() + R"(","host":")" +
           peers_[static_cast<std::size_t>(own_)].name + R"(","connections":{)" + connections +
           R"(},"changed":true,"version":"STANDIN"})";
  }

  const Config config_;
  State state_ = State::kInitializing;
  steady_clock::time_point began_ = {};
  std::set<int> recovers_;                   // Whom it waits for before it is READY.
  std::optional<std::set<int>> noted_ = {};  // As its file has them.
  std::string instance_;
  int own_ = -1;
  int listener_ = -1;
  int cmd_listener_ = -1;
  std::vector<Peer> peers_;
  std::list<Guest> guests_;
  std::optional<steady_clock::time_point> heard_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string path = "/etc/nvidia-imex/config.cfg";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-c") == 0 && i + 1 < argc) path = argv[i + 1];
    if (std::strcmp(argv[i], "--version") == 0) {
      std::puts("IMEX version is: 580.95.05");
      return 0;
    }
  }
  std::array<int, 2> signals = {};
  if (::pipe2(signals.data(), O_CLOEXEC | O_NONBLOCK) != 0) return 1;
  signal_pipe = signals[1];
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) ::sigaction(signal, &action, nullptr);
  Config config = standin::ReadConfig(path);
  log_level = config.log_level;
  if (!config.log_file.empty()) {
    const char* const mode = config.log_appends ? "a" : "w";
    if (std::freopen(config.log_file.c_str(), mode, stderr) == nullptr) return kFailed;
    std::setvbuf(stderr, nullptr, _IONBF, 0);
  }
  Standin standin(std::move(config));
  standin.Begin();
  return standin.Run(signals[0]);
}
