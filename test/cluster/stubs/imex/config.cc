#include "test/cluster/stubs/imex/config.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace standin {

namespace {

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "[ERROR] %s\n", why.c_str());
  std::exit(255);
}

}  // namespace

Config ReadConfig(const std::string& path) {
  std::ifstream file(path);
  if (!file) Die("cannot read " + path);
  Config config;
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line[0] == '#') continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (key == "IMEX_CMD_BIND_INTERFACE_IP") config.own_ip = value;
    if (key == "SERVER_PORT") config.port = std::atoi(value.c_str());
    if (key == "IMEX_CMD_PORT") config.cmd_port = std::atoi(value.c_str());
    if (key == "IMEX_NODE_CONFIG_FILE") config.nodes_file = value;
  }
  if (config.own_ip.empty()) Die("no IMEX_CMD_BIND_INTERFACE_IP in " + path);
  std::ifstream nodes(config.nodes_file);
  for (std::string line; std::getline(nodes, line);) {
    if (!line.empty()) config.names.push_back(line);
  }
  if (config.names.empty()) Die("no nodes in \"" + config.nodes_file + "\"");
  return config;
}

std::map<std::string, std::string> ReadHosts() {
  const char* path = std::getenv("IMEX_STANDIN_HOSTS");
  std::ifstream file(path == nullptr ? "/etc/hosts" : path);
  std::map<std::string, std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string ip;
    words >> ip;
    for (std::string name; words >> name;) hosts.emplace(name, ip);
  }
  return hosts;
}

}  // namespace standin
