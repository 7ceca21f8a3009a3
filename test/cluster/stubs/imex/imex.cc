// A stand-in for nvidia-imex, which needs a GPU: see README.md. It finds out who it is and where
// its peers are as that does, at its start and at SIGUSR1, and talks to them.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/cluster/stubs/imex/config.h"
#include "test/cluster/stubs/imex/net.h"

namespace {

using standin::Config;
using std::chrono::steady_clock;

constexpr auto kDeaf = std::chrono::seconds(5);  // After a SIGUSR1, as the real one.
constexpr auto kTryAgain = std::chrono::milliseconds(250);

int signal_pipe = -1;
void OnSignal(int signal) {
  const char byte = signal == SIGUSR1 ? 'u' : 't';
  const ssize_t written = ::write(signal_pipe, &byte, 1);  // One that is full says enough.
  static_cast<void>(written);
}

__attribute__((format(printf, 2, 3))) void Log(const char* level, const char* format, ...) {
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
  explicit Standin(Config config) : config_(std::move(config)) {
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
      std::exit(1);
    }
    Log("INFO", "Identified this node as ID %d, using bind address of '%s'", own_,
        peers_[static_cast<std::size_t>(own_)].name.c_str());
    listener_ = standin::Listen(config_.own_ip, config_.port);
    cmd_listener_ = standin::Listen(config_.own_ip, config_.cmd_port);
    if (listener_ < 0 || cmd_listener_ < 0) {
      Log("ERROR", "Address already in use");
      std::exit(1);
    }
    Log("INFO", "IMEX is READY");
  }

  // Returns at the end.
  void Run(int signals) {
    while (true) {
      std::vector<pollfd> fds = {Of(signals, POLLIN), Of(listener_, POLLIN),
                                 Of(cmd_listener_, POLLIN)};
      for (Peer& peer : peers_) {
        if (peer.fd >= 0) fds.push_back(Of(peer.fd, peer.greeted ? POLLIN : POLLOUT));
      }
      for (const Guest& guest : guests_) fds.push_back(Of(guest.fd, POLLIN));
      ::poll(fds.data(), fds.size(), 50);
      if (!TakeSignals(signals)) return;
      Accept(listener_, false);
      Accept(cmd_listener_, true);
      for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (static_cast<int>(i) != own_) Advance(static_cast<int>(i), peers_[i]);
      }
      guests_.remove_if([this](Guest& guest) { return !Serve(guest); });
    }
  }

 private:
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
      Log("INFO", "SIGUSR1: connecting anew");
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

  void Advance(int index, Peer& peer) {
    const auto now = steady_clock::now();
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
      peer.greeted = standin::IsConnected(peer.fd) &&
                     standin::Send(peer.fd, "HELLO " + std::to_string(own_) + " " +
                                                std::to_string(index) + " " + instance_ + "\n");
      if (!peer.greeted) Drop(peer, now + kTryAgain);
      return;
    }
    const bool lives = standin::Receive(peer.fd, peer.words);
    const std::size_t end = peer.words.find('\n');
    if (!peer.connected && end != std::string::npos) Answered(index, peer, end);
    if (lives) return;
    if (std::exchange(peer.connected, false)) {
      Log("ERROR", "Session with node %d has ended: what was imported from it is lost", index);
    }
    Drop(peer, now + kTryAgain);
  }

  void Answered(int index, Peer& peer, std::size_t end) {
    const std::string line = peer.words.substr(0, end);
    peer.words.erase(0, end + 1);
    if (!line.starts_with("OK ")) {
      if (peer.instance != line) Log("ERROR", "Node %d says: %s", index, line.c_str());
      peer.instance = line;
      Drop(peer, steady_clock::now() + kTryAgain);
      return;
    }
    peer.connected = true;
    peer.instance = line.substr(3);
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
      if (guest.asks) {
        standin::Send(guest.fd, line == "q" ? State() + "\n" : OwnView());
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
    if (std::sscanf(line.c_str(), "HELLO %d %d", &from, &meant) != 2) return false;
    if (meant == own_) return standin::Send(guest.fd, "OK " + instance_ + "\n");
    standin::Send(guest.fd, "WRONG this is node " + std::to_string(own_) + "\n");
    return false;
  }

  static std::string State() {
    const std::string asked_for = standin::StateAskedFor();
    return asked_for.empty() ? "READY" : asked_for;
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
    return R"({"status":")" + State() + R"(","host":")" +
           peers_[static_cast<std::size_t>(own_)].name + R"(","connections":{)" + connections +
           R"(},"changed":true,"version":"STANDIN"})";
  }

  const Config config_;
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
  Standin standin(standin::ReadConfig(path));
  standin.Begin();
  standin.Run(signals[0]);
  Log("INFO", "Shutting down");
  return 0;
}
