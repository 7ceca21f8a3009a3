// What both stand-ins read: IMEX's configuration, nodes file and hosts file.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace standin {

struct Config {
  std::string own_ip = {};  // IMEX_CMD_BIND_INTERFACE_IP.
  int port = 50000;
  int cmd_port = 50005;
  std::string nodes_file = {};
  std::vector<std::string> names = {};  // By index.
};

// Ends the process, with what is missing, if it cannot be read.
Config ReadConfig(const std::string& path);

// Addresses of names, as /etc/hosts, or the file that $IMEX_STANDIN_HOSTS names, has them now.
// Where a name stands twice, the first line counts.
std::map<std::string, std::string> ReadHosts();

// What a test asks of the stand-ins of one node, in files beside its hosts file: `hosts.state` has
// a state that IMEX is to have, and while there is a `hosts.hangs`, -N does not answer. Empty if
// there is no such file.
std::string StateAskedFor();
bool IsToHang();

}  // namespace standin
