// What both stand-ins read: IMEX's configuration, nodes file and hosts file.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace standin {

// For whom IMEX waits before it is READY: IMEX_WAIT_FOR_QUORUM.
enum class Quorum {
  kNone,      // For nobody.
  kRecovery,  // For nodes that had imported its memory when it was last ended without a goodbye.
  kFull,      // For all nodes.
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
  std::optional<std::chrono::seconds> grace_time{};  // Of a peer that is lost. Empty: for ever.
  bool encrypts = false;
  int log_level = 4;
  std::string log_file = {};  // Empty: stderr.
  bool log_appends = true;
};

// Ends the process, with what is wrong, if it cannot be read.
Config ReadConfig(const std::string& path);

// Addresses of names, as /etc/hosts, or the file that $IMEX_STANDIN_HOSTS names, has them now.
// Where a name stands twice, the first line counts.
std::map<std::string, std::string> ReadHosts();

// Where IMEX keeps who imported its memory.
std::string PersistFile();

// What a test asks of the stand-ins of one node, in files beside the hosts file that it named, or
// in /run. Empty if there is no such file.
//   hosts.state      a state: IMEX stays in it when it comes there, and once it is READY says this
//   hosts.importers  indices of nodes whose jobs have imported memory of this one
//   hosts.fails      what IMEX logs as its error before it ends
//   hosts.deaf       while it exists, IMEX takes no connection of a peer
//   hosts.hangs      while it exists, IMEX takes the question of -N and does not answer
std::string StateAskedFor();
std::set<int> Importers();
std::string FailureAskedFor();
bool IsDeaf();
bool IsToHang();

}  // namespace standin
