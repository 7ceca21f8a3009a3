#include "test/cluster/stubs/imex/config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>

namespace standin {

namespace {

constexpr std::size_t kPathMost = 256;
constexpr std::size_t kInterfaceMost = 15;
constexpr int kPortMost = 65535;

constexpr auto kStates = std::to_array<std::string_view>(
    {"INITIALIZING", "STARTING_AUTH_SERVER", "WAITING_FOR_PEERS", "WAITING_FOR_RECOVERY",
     "INIT_GPU", "READY", "SHUTTING_DOWN", "UNAVAILABLE"});

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "[ERROR] %s\n", why.c_str());
  std::exit(255);
}

std::optional<int> NumberIn(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return {};
  return number;
}
template <int Least, int Most = INT_MAX>
bool IsNumber(std::string_view text) {
  const auto number = NumberIn(text);
  return number && *number >= Least && *number <= Most;
}
bool IsFlag(std::string_view text) { return text == "0" || text == "1"; }
bool IsPath(std::string_view text) {
  return text.empty() || (text.front() == '/' && text.size() <= kPathMost);
}
bool IsAddress(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes = {};
  const std::string address(text);
  return text.empty() || ::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
}
bool IsInterface(std::string_view text) {
  return text.size() <= kInterfaceMost && text.find_first_of("/ ") == std::string_view::npos;
}
bool IsQuorum(std::string_view text) {
  return text == "NONE" || text == "RECOVERY" || text == "FULL";
}
bool IsMode(std::string_view text) {
  return text == "SSL_TLS" || text == "GSS_AUTH_ENCRYPT" || text == "GSS_AUTH_ONLY";
}
bool IsSource(std::string_view text) {
  return text.empty() || text == "FILE" || text == "ENV_PATH" || text == "ENV_VAL";
}
bool IsAnything(std::string_view /*text*/) { return true; }

struct Key {
  std::string_view name = {};
  bool (*is_valid)(std::string_view value) = IsAnything;
  std::string_view values = {};
};

// The keys, and the values of each, that the configuration which NVIDIA's package installs
// documents in its comments, and the guide to IMEX: "IMEX Service Config Options". FULL and
// IMEX_CONN_WAIT_TIMEOUT are of versions of before there was RECOVERY; the log of later ones still
// names FULL.
constexpr auto kKeys = std::to_array<Key>({
    {"LOG_LEVEL", IsNumber<0, 4>, "0 to 4"},
    {"LOG_FILE_NAME", IsPath, "a path of at most 256 bytes, or nothing"},
    {"STATS_FILE_NAME", IsPath, "a path of at most 256 bytes, or nothing"},
    {"LOG_APPEND_TO_LOG", IsFlag, "0 or 1"},
    {"LOG_FILE_MAX_SIZE", IsNumber<INT_MIN>, "an integer"},
    {"LOG_MAX_ROTATE_COUNT", IsNumber<0>, "0 or more"},
    {"LOG_USE_SYSLOG", IsFlag, "0 or 1"},
    {"DAEMONIZE", IsFlag, "0 or 1"},
    {"BIND_INTERFACE_IP", IsAddress, "an address, or nothing"},
    {"SERVER_PORT", IsNumber<0, kPortMost>, "0 to 65535"},
    {"IMEX_NODE_CONFIG_FILE", IsPath, "a path of at most 256 bytes"},
    {"NETWORK_INTERFACE", IsInterface, "the name of an interface, or nothing"},
    {"IMEX_CONN_WAIT_TIMEOUT", IsNumber<0>, "0 or more"},
    {"IMEX_WAIT_FOR_QUORUM", IsQuorum, "NONE, RECOVERY or FULL"},
    {"IMEX_ENABLE_AUTH_ENCRYPTION", IsFlag, "0 or 1"},
    {"IMEX_AUTH_ENCRYPTION_MODE", IsMode, "SSL_TLS, GSS_AUTH_ENCRYPT or GSS_AUTH_ONLY"},
    {"IMEX_AUTH_SOURCE", IsSource, "FILE, ENV_PATH, ENV_VAL, or nothing"},
    {"IMEX_SERVER_KEY"},
    {"IMEX_SERVER_CERT"},
    {"IMEX_SERVER_CERT_AUTH"},
    {"IMEX_CLIENT_KEY"},
    {"IMEX_CLIENT_CERT"},
    {"IMEX_CLIENT_CERT_AUTH"},
    {"IMEX_SECURITY_TARGET_OVERRIDE"},
    {"IMEX_GSS_SERVICE_NAME"},
    {"IMEX_GSS_TIMEOUT_SEC", IsNumber<-1>, "-1 or more"},
    {"IMEX_GSS_RETRY_INTERVAL_SEC", IsNumber<0>, "0 or more"},
    {"IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC", IsNumber<-1>, "-1 or more"},
    {"IMEX_GSS_SHUTDOWN_ON_FAILURE", IsFlag, "0 or 1"},
    {"IMEX_CMD_ENABLED", IsFlag, "0 or 1"},
    {"IMEX_CMD_BIND_INTERFACE_IP", IsAddress, "an address, or nothing"},
    {"IMEX_CMD_PORT", IsNumber<0, kPortMost>, "0 to 65535"},
    {"IMEX_CMD_UNIX_DOMAIN_PATH", IsPath, "a path of at most 256 bytes, or nothing"},
    {"IMEX_NODE_DISCONNECTED_GRACE_TIME", IsNumber<-1>, "-1 or more"},
});
// What the template of cdom, as that of NVIDIA's plugin, leaves out.
constexpr std::string_view kMayBeAbsent = "IMEX_CONN_WAIT_TIMEOUT";

using Values = std::map<std::string, std::string, std::less<>>;

void Take(const std::string& line, const std::string& path, Values& values) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) Die("no key in line \"" + line + "\" of " + path);
  const std::string name = line.substr(0, equals);
  const std::string value = line.substr(equals + 1);
  const auto* const key = std::ranges::find(kKeys, name, &Key::name);
  if (key == kKeys.end()) Die("unknown key " + name + " in " + path);
  if (!key->is_valid(value)) {
    Die("bad value \"" + value + "\" of " + name + " in " + path + ": it takes " +
        std::string(key->values));
  }
  if (!values.emplace(name, value).second) Die("key " + name + " stands twice in " + path);
}

Values ReadValues(const std::string& path) {
  std::ifstream file(path);
  if (!file) Die("cannot read " + path);
  Values values;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') Take(line, path, values);
  }
  for (const Key& key : kKeys) {
    // What the real one takes then is not documented.
    if (key.name != kMayBeAbsent && !values.contains(key.name)) {
      Die("no key " + std::string(key.name) + " in " + path);
    }
  }
  return values;
}

// The stand-in runs in the foreground and is asked over TCP: it refuses what it cannot do.
void RefuseWhatItLacks(const Values& values) {
  for (const char* name : {"DAEMONIZE", "LOG_USE_SYSLOG"}) {
    if (values.at(name) == "1") Die("the stand-in for IMEX knows no " + std::string(name) + "=1");
  }
  if (!values.at("IMEX_CMD_UNIX_DOMAIN_PATH").empty()) {
    Die("the stand-in for IMEX knows no IMEX_CMD_UNIX_DOMAIN_PATH");
  }
}

// Ends the process unless each key and certificate is where IMEX_AUTH_SOURCE says.
void CheckKeys(const Values& values) {
  if (values.at("IMEX_AUTH_ENCRYPTION_MODE") != "SSL_TLS") return;
  const std::string& source = values.at("IMEX_AUTH_SOURCE");
  if (source.empty()) Die("IMEX_AUTH_SOURCE is empty, and SSL_TLS needs its keys");
  for (const char* side : {"SERVER", "CLIENT"}) {
    for (const char* what : {"KEY", "CERT", "CERT_AUTH"}) {
      const std::string name = std::string("IMEX_") + side + "_" + what;
      std::string place = values.at(name);
      if (source != "FILE") {
        const char* const variable = std::getenv(place.c_str());
        if (variable == nullptr) Die("no variable \"" + place + "\", which " + name + " names");
        place = variable;
      }
      if (source != "ENV_VAL" && !std::ifstream(place))
        Die("cannot read the key \"" + place + "\"");
    }
  }
}

std::string HostsFile() {
  const char* path = std::getenv("IMEX_STANDIN_HOSTS");
  return path == nullptr ? "/etc/hosts" : path;
}

Quorum QuorumOf(const std::string& value) {
  if (value == "NONE") return Quorum::kNone;
  return value == "FULL" ? Quorum::kFull : Quorum::kRecovery;
}

}  // namespace

Config ReadConfig(const std::string& path) {
  const Values values = ReadValues(path);
  RefuseWhatItLacks(values);
  const auto number = [&](const char* name) { return *NumberIn(values.at(name)); };
  Config config = {.own_ip = values.at("BIND_INTERFACE_IP"),
                   .port = number("SERVER_PORT"),
                   .has_commands = values.at("IMEX_CMD_ENABLED") == "1",
                   .cmd_port = number("IMEX_CMD_PORT"),
                   .nodes_file = values.at("IMEX_NODE_CONFIG_FILE"),
                   .quorum = QuorumOf(values.at("IMEX_WAIT_FOR_QUORUM")),
                   .encrypts = values.at("IMEX_ENABLE_AUTH_ENCRYPTION") == "1",
                   .log_level = number("LOG_LEVEL"),
                   .log_file = values.at("LOG_FILE_NAME"),
                   .log_appends = values.at("LOG_APPEND_TO_LOG") == "1"};
  if (config.own_ip.empty()) config.own_ip = values.at("IMEX_CMD_BIND_INTERFACE_IP");
  if (config.own_ip.empty()) Die("no IMEX_CMD_BIND_INTERFACE_IP in " + path);
  if (values.contains(kMayBeAbsent)) {
    config.quorum_time = std::chrono::seconds(number("IMEX_CONN_WAIT_TIMEOUT"));
  }
  const int grace = number("IMEX_NODE_DISCONNECTED_GRACE_TIME");
  if (grace >= 0) config.grace_time = std::chrono::seconds(grace);
  if (config.encrypts) CheckKeys(values);
  std::ifstream nodes(config.nodes_file);
  for (std::string line; std::getline(nodes, line);) {
    if (!line.empty()) config.names.push_back(line);
  }
  if (config.names.empty()) Die("no nodes in \"" + config.nodes_file + "\"");
  return config;
}

std::string HashOfNodes(const Config& config) {
  std::string names;
  for (const std::string& name : config.names) names += name + "\n";
  return std::to_string(std::hash<std::string>()(names));
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

std::string PersistFile() {
  const char* hosts = std::getenv("IMEX_STANDIN_HOSTS");
  return hosts == nullptr ? "/var/run/nvidia-imex/persist.dat" : hosts + std::string(".persist");
}

// In a pod the folder of the hosts file is read-only.
static std::string Asked(const char* what) {
  const char* hosts = std::getenv("IMEX_STANDIN_HOSTS");
  return (hosts == nullptr ? "/run/hosts" : std::string(hosts)) + "." + what;
}

std::string StateAskedFor() {
  std::ifstream file(Asked("state"));
  std::string state;
  if (!(file >> state)) return "";
  if (std::ranges::find(kStates, state) == kStates.end()) Die("IMEX has no state " + state);
  return state;
}

std::set<int> Importers() {
  std::ifstream file(Asked("importers"));
  std::set<int> importers;
  for (int index = 0; file >> index;) importers.insert(index);
  return importers;
}

std::string FailureAskedFor() {
  std::ifstream file(Asked("fails"));
  std::string text;
  std::getline(file, text);
  return text;
}

bool IsDeaf() { return std::ifstream(Asked("deaf")).is_open(); }

bool IsToHang() { return std::ifstream(Asked("hangs")).is_open(); }

}  // namespace standin
