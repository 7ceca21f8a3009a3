// Asks a plugin as a kubelet would, over its socket. A CLAIM is NAMESPACE/NAME/UID.
//
//   ask-plugin SOCKET prepare CLAIM          prints the devices' CDI names; or the error, and fails
//   ask-plugin SOCKET unprepare CLAIM        fails with the error
//   ask-plugin SOCKET cycle COUNT CLAIM...   prepares and unprepares them in turn, COUNT times in
//                                            all; prints how long one took
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "kubelet/dra_v1.grpc.pb.h"

namespace {

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
using Plugin = v1::DRAPlugin::Stub;

constexpr auto kPatience = std::chrono::seconds(45);  // A kubelet's.

v1::Claim ClaimOf(const std::string& text) {
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');
  v1::Claim claim;
  claim.set_namespace_(text.substr(0, first));
  claim.set_name(text.substr(first + 1, last - first - 1));
  claim.set_uid(text.substr(last + 1));
  return claim;
}

// What is wrong; empty: nothing. What it gave is in `given`.
std::string Prepare(Plugin& plugin, const v1::Claim& claim, std::string& given) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::NodePrepareResourcesRequest request;
  *request.add_claims() = claim;
  v1::NodePrepareResourcesResponse response;
  const grpc::Status status = plugin.NodePrepareResources(&context, request, &response);
  if (!status.ok()) return status.error_message();
  const auto found = response.claims().find(claim.uid());
  if (found == response.claims().end()) return "no answer for " + claim.uid();
  for (const auto& device : found->second.devices()) {
    for (const std::string& name : device.cdi_device_ids()) given += name + "\n";
  }
  return found->second.error();
}

std::string Unprepare(Plugin& plugin, const v1::Claim& claim) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::NodeUnprepareResourcesRequest request;
  *request.add_claims() = claim;
  v1::NodeUnprepareResourcesResponse response;
  const grpc::Status status = plugin.NodeUnprepareResources(&context, request, &response);
  if (!status.ok()) return status.error_message();
  const auto found = response.claims().find(claim.uid());
  return found == response.claims().end() ? "no answer for " + claim.uid() : found->second.error();
}

int Failed(const std::string& error) {
  std::fputs((error + "\n").c_str(), stderr);
  return 1;
}

int Cycle(Plugin& plugin, std::size_t count, const std::vector<v1::Claim>& claims) {
  std::vector<double> took;
  for (std::size_t i = 0; i < count; ++i) {
    const v1::Claim& claim = claims[i % claims.size()];
    const auto began = std::chrono::steady_clock::now();
    std::string given;
    std::string error = Prepare(plugin, claim, given);
    if (error.empty() && given.empty()) error = "no device was given";
    if (error.empty()) error = Unprepare(plugin, claim);
    if (!error.empty()) return Failed("cycle " + std::to_string(i) + ": " + error);
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - began;
    took.push_back(passed.count());
  }
  std::ranges::sort(took);
  std::printf("median %.1f ms most %.1f ms\n", took[took.size() / 2], took.back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) return Failed("ask-plugin SOCKET prepare|unprepare|cycle ...");
  const auto plugin = v1::DRAPlugin::NewStub(
      grpc::CreateChannel("unix:" + words[0], grpc::InsecureChannelCredentials()));
  if (words[1] == "prepare") {
    std::string given;
    const std::string error = Prepare(*plugin, ClaimOf(words[2]), given);
    std::fputs(given.c_str(), stdout);
    return error.empty() ? 0 : Failed(error);
  }
  if (words[1] == "unprepare") {
    const std::string error = Unprepare(*plugin, ClaimOf(words[2]));
    return error.empty() ? 0 : Failed(error);
  }
  if (words[1] != "cycle" || words.size() < 4) return Failed("prepare, unprepare or cycle");
  std::vector<v1::Claim> claims;
  for (std::size_t i = 3; i < words.size(); ++i) claims.push_back(ClaimOf(words[i]));
  return Cycle(*plugin, std::stoul(words[2]), claims);
}
