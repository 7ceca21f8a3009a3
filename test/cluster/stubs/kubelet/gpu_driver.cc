// A stand-in for NVIDIA's driver of GPUs, on a node that has one GPU.
//
//   gpu-driver NODE   serves the kubelet of this node until SIGTERM
//
// It is a second driver beside cdom's: its device and cdom's may be in one claim. The test that
// starts it publishes the ResourceSlice of the GPU and writes the CDI spec.
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "node/kubelet/claims.h"
#include "node/kubelet/service.h"

namespace {

constexpr const char* kDriver = "gpu.nvidia.com";

class Gpu final : public kubelet::Claims {
 public:
  explicit Gpu(std::string node) : node_(std::move(node)) {}

  void Prepare(const std::vector<kubelet::ClaimName>& claims, std::stop_token /*cancelled*/,
               kubelet::Done done) override {
    kubelet::Answers answers;
    for (const kubelet::ClaimName& claim : claims) {
      answers[claim.uid].devices = {{.requests = {"gpus"},  // As in cdom's claim template.
                                     .pool = node_,
                                     .name = "gpu-0",
                                     .cdi_ids = {"k8s.gpu.nvidia.com/device=gpu-0"}}};
    }
    done(answers);
  }
  void Unprepare(const std::vector<kubelet::ClaimName>& claims, std::stop_token /*cancelled*/,
                 kubelet::Done done) override {
    kubelet::Answers answers;
    for (const kubelet::ClaimName& claim : claims) answers[claim.uid] = {};
    done(answers);
  }
  void Registered(const std::string& error) override {
    std::fputs(("registered: " + error + "\n").c_str(), stderr);
  }
  std::vector<kubelet::DeviceHealth> Health() override { return {}; }
  std::string Trouble() override { return {}; }

 private:
  const std::string node_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("gpu-driver NODE\n", stderr);
    return 2;
  }
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);  // Before gRPC starts threads.
  Gpu gpu(argv[1]);
  const auto service =
      kubelet::Service::Start({.driver = kDriver,
                               .registry_folder = "/var/lib/kubelet/plugins_registry",
                               .plugin_folder = std::string("/var/lib/kubelet/plugins/") + kDriver},
                              gpu);
  if (!service) {
    std::fputs((service.error().message + "\n").c_str(), stderr);
    return 1;
  }
  int signal = 0;
  return sigwait(&term, &signal);
}
