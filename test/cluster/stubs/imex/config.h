// IMEX's configuration, nodes file and hosts file, for both stand-ins.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace standin {

// The nodes that IMEX waits for before it is READY: IMEX_WAIT_FOR_QUORUM.
enum class Quorum {
  kNone,      // No nodes.
  kRecovery,  // Nodes that had imported its memory when it last ended without notice.
  kFull,      // All nodes.
};

struct Config {
  std::string own_ip = {};  // BIND_INTERFACE_IP, else IMEX_CMD_BIND_INTERFACE_IP.
  int port = 50000;
  bool has_commands = true;  // IMEX_CMD_ENABLED.
  int cmd_port = 50005;
  std::string nodes_file = {};
  std::vector<std::string> names = {};  // By index.
  Quorum quorum = Quorum::kRecovery;
  std::chrono::seconds quorum_time{70};              // IMEX_CONN_WAIT_TIMEOUT, with kFull.
  std::optional<std::chrono::seconds> grace_time{};  // For a lost peer. Empty if unlimited.
  bool encrypts = false;
  int log_level = 4;
  std::string log_file = {};  // Empty for stderr.
  bool log_appends = true;
};

// Ends the process, with an error message, if the file cannot be read.
Config ReadConfig(const std::string& path);

// Returns a hash of the nodes file: digits.
std::string HashOfNodes(const Config& config);

// Returns the current addresses of names in /etc/hosts, or in the file that $IMEX_STANDIN_HOSTS
// names. If a name occurs twice, the first line counts.
std::map<std::string, std::string> ReadHosts();

// Returns the path of the file in which IMEX keeps its importers.
std::string PersistFile();

// Test controls of one node's stand-ins: files beside the hosts file that a test named, or in /run.
// Empty if there is no such file.
//  hosts.state      a state: IMEX stays in it once it reaches it, and reports it once it is READY
//  hosts.importers  indices of nodes whose jobs have imported memory of this node
//  hosts.fails      the error that IMEX logs before it ends
//  hosts.deaf       while it exists, IMEX accepts no connection of a peer
//  hosts.hangs      while it exists, IMEX accepts the question of -N and does not answer
std::string StateAskedFor();
std::set<int> Importers();
std::string FailureAskedFor();
bool IsDeaf();
bool IsToHang();

}  // namespace standin
