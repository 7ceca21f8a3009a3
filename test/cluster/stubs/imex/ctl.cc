// A stand-in for nvidia-imex-ctl: -q says how the IMEX of this node is, -N -j how all of the domain
// are, each as it says itself.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "test/cluster/stubs/imex/config.h"
#include "test/cluster/stubs/imex/net.h"

namespace {

constexpr int kMs = 1000;
// NVIDIA's program has no option for how long -N waits, and was seen to hang where one node does.
constexpr int kForEver = 3'600'000;

std::string Unavailable(const std::string& name) {
  return R"({"status":"UNAVAILABLE","host":")" + name + R"(","connections":{},"changed":true})";
}

int PrintDomain(const standin::Config& config) {
  const auto hosts = standin::ReadHosts();
  std::string nodes;
  bool all = true;
  for (std::size_t i = 0; i < config.names.size(); ++i) {
    const auto host = hosts.find(config.names[i]);
    std::string view;
    if (host != hosts.end())
      view = standin::Ask(config.own_ip, host->second, config.cmd_port, "N\n", kForEver);
    if (view.empty()) {
      view = Unavailable(config.names[i]);
      all = false;
    }
    nodes += std::string(nodes.empty() ? "" : ",") + "\"" + std::to_string(i) + "\":" + view;
  }
  std::printf("{\"nodes\":{%s},\"timestamp\":\"1/1/2026 00:00:00.000\",\"status\":\"%s\"}\n",
              nodes.c_str(), all ? "UP" : "DEGRADED");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = "/etc/nvidia-imex/config.cfg";
  bool domain = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-c") == 0 && i + 1 < argc) path = argv[i + 1];
    if (std::strcmp(argv[i], "-N") == 0) domain = true;
  }
  const standin::Config config = standin::ReadConfig(path);
  if (domain) return PrintDomain(config);
  const std::string answer =
      standin::Ask(config.own_ip, config.own_ip, config.cmd_port, "q\n", kMs);
  if (answer.empty()) {
    std::fprintf(stderr, "no IMEX answers at %s:%d\n", config.own_ip.c_str(), config.cmd_port);
    return 255;
  }
  std::fputs(answer.c_str(), stdout);
  return 0;
}
