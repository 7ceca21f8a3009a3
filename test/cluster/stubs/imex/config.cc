#include "test/cluster/stubs/imex/config.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace standin {

namespace {

// Keys that NVIDIA's IMEX guide and the configuration of its packages document.
constexpr auto kKeys = std::to_array<std::string_view>({
    "LOG_LEVEL",
    "LOG_FILE_NAME",
    "STATS_FILE_NAME",
    "LOG_APPEND_TO_LOG",
    "LOG_FILE_MAX_SIZE",
    "LOG_MAX_ROTATE_COUNT",
    "LOG_USE_SYSLOG",
    "DAEMONIZE",
    "BIND_INTERFACE_IP",
    "SERVER_PORT",
    "IMEX_NODE_CONFIG_FILE",
    "NETWORK_INTERFACE",
    "IMEX_CONN_WAIT_TIMEOUT",
    "IMEX_WAIT_FOR_QUORUM",
    "IMEX_ENABLE_AUTH_ENCRYPTION",
    "IMEX_AUTH_ENCRYPTION_MODE",
    "IMEX_AUTH_SOURCE",
    "IMEX_SERVER_KEY",
    "IMEX_SERVER_CERT",
    "IMEX_SERVER_CERT_AUTH",
    "IMEX_CLIENT_KEY",
    "IMEX_CLIENT_CERT",
    "IMEX_CLIENT_CERT_AUTH",
    "IMEX_SECURITY_TARGET_OVERRIDE",
    "IMEX_GSS_SERVICE_NAME",
    "IMEX_GSS_TIMEOUT_SEC",
    "IMEX_GSS_RETRY_INTERVAL_SEC",
    "IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC",
    "IMEX_GSS_SHUTDOWN_ON_FAILURE",
    "IMEX_CMD_ENABLED",
    "IMEX_CMD_BIND_INTERFACE_IP",
    "IMEX_CMD_PORT",
    "IMEX_CMD_UNIX_DOMAIN_PATH",
    "IMEX_NODE_DISCONNECTED_GRACE_TIME",
});
constexpr auto kStates = std::to_array<std::string_view>(
    {"INITIALIZING", "STARTING_AUTH_SERVER", "WAITING_FOR_PEERS", "WAITING_FOR_RECOVERY",
     "INIT_GPU", "READY", "SHUTTING_DOWN", "UNAVAILABLE"});

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "[ERROR] %s\n", why.c_str());
  std::exit(255);
}

std::string HostsFile() {
  const char* path = std::getenv("IMEX_STANDIN_HOSTS");
  return path == nullptr ? "/etc/hosts" : path;
}

}  // namespace

Config ReadConfig(const std::string& path) {
  std::ifstream file(path);
  if (!file) Die("cannot read " + path);
  Config config;
  std::set<std::string_view> missing(kKeys.begin(), kKeys.end());
  missing.erase("IMEX_CONN_WAIT_TIMEOUT");  // Of other modes of IMEX_WAIT_FOR_QUORUM.
  bool encrypts = false;
  std::vector<std::string> key_files;
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#') continue;
    if (equals == std::string::npos) Die("no key in line \"" + line + "\" of " + path);
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (std::ranges::find(kKeys, key) == kKeys.end()) Die("unknown key " + key + " in " + path);
    missing.erase(key);
    // The real one would ask its files for them, as these are named.
    const bool is_key_file = key.starts_with("IMEX_SERVER_") || key.starts_with("IMEX_CLIENT_");
    if (is_key_file) key_files.push_back(value);
    if (key == "IMEX_ENABLE_AUTH_ENCRYPTION") encrypts = value == "1";
    if (key == "IMEX_CMD_BIND_INTERFACE_IP") config.own_ip = value;
    if (key == "SERVER_PORT") config.port = std::atoi(value.c_str());
    if (key == "IMEX_CMD_PORT") config.cmd_port = std::atoi(value.c_str());
    if (key == "IMEX_NODE_CONFIG_FILE") config.nodes_file = value;
  }
  // What it takes then is not documented.
  if (!missing.empty()) Die("no key " + std::string(*missing.begin()) + " in " + path);
  for (const std::string& key_file : key_files) {
    if (encrypts && !std::ifstream(key_file)) Die("cannot read the key \"" + key_file + "\"");
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
  std::ifstream file(HostsFile());
  std::map<std::string, std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string ip;
    words >> ip;
    for (std::string name; words >> name;) hosts.emplace(name, ip);
  }
  return hosts;
}

std::string StateAskedFor() {
  std::ifstream file(HostsFile() + ".state");
  std::string state;
  if (!(file >> state)) return "";
  if (std::ranges::find(kStates, state) == kStates.end()) Die("IMEX has no state " + state);
  return state;
}

bool IsToHang() { return std::ifstream(HostsFile() + ".hangs").is_open(); }

}  // namespace standin
