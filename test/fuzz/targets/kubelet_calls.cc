// The plugin's socket, from a kubelet that sends anything as the message of a call:
//  - each claim that was understood is answered, under its own UID, and nobody was asked about more
//  than 256;
//  - what is refused is no message of that call, or too much;
//  - a correct request afterwards is answered.
//
// HTTP/2 and the framing of messages are gRPC's own.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "kubelet/dra_v1.pb.h"
#include "kubelet/dra_v1beta1.pb.h"
#include "node/kubelet/service.h"
#include "test/fuzz/fuzz.h"

namespace {

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

constexpr std::size_t kClaimsMax = 256;
constexpr std::array kMethods = {
    "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
    "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
    "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources",
    "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources",
};

// Gives each claim what it is called.
class Echo final : public kubelet::Claims {
 public:
  void Prepare(const std::vector<kubelet::ClaimName>& claims, std::stop_token /*cancelled*/,
               kubelet::Done done) override {
    Answer(claims, done);
  }
  void Unprepare(const std::vector<kubelet::ClaimName>& claims, std::stop_token /*cancelled*/,
                 kubelet::Done done) override {
    Answer(claims, done);
  }
  void Registered(const std::string& /*error*/) override {}
  std::vector<kubelet::DeviceHealth> Health() override { return {}; }
  std::string Trouble() override { return {}; }

 private:
  static void Answer(const std::vector<kubelet::ClaimName>& claims, const kubelet::Done& done) {
    CHECK(claims.size() <= kClaimsMax);
    kubelet::Answers answers;
    for (const kubelet::ClaimName& claim : claims) {
      answers[claim.uid] = {.devices = {{.pool = claim.ns, .name = claim.name}}};
    }
    done(answers);
  }
};

struct World {
  World() {
    std::string path = std::filesystem::temp_directory_path() / "cdom-fuzz.XXXXXX";
    CHECK(::mkdtemp(path.data()) != nullptr);
    folder = path;
    service = kubelet::Service::Start({.driver = "driver.test",
                                       .registry_folder = folder + "/registry",
                                       .plugin_folder = folder + "/plugins"},
                                      claims)
                  .value();
    stub = std::make_unique<grpc::GenericStub>(
        grpc::CreateChannel("unix:" + service->endpoint(), grpc::InsecureChannelCredentials()));
  }
  ~World() {
    service.reset();
    std::filesystem::remove_all(folder);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::string folder = {};
  Echo claims = {};
  std::unique_ptr<kubelet::Service> service = {};
  std::unique_ptr<grpc::GenericStub> stub = {};
};

grpc::Status Call(const std::string& method, std::string_view message, std::string& reply) {
  static World world;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const grpc::Slice slice(message.data(), message.size());
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::CompletionQueue queue;
  grpc::Status status;
  const auto call = world.stub->PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool is_ok = false;
  CHECK(queue.Next(&tag, &is_ok));
  std::vector<grpc::Slice> slices;
  if (status.ok() && response.Dump(&slices).ok()) {
    for (const grpc::Slice& part : slices) {
      reply.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
  }
  return status;
}

template <typename Request, typename Response>
void CheckAnswered(std::string_view message, const std::string& reply) {
  Request request;
  CHECK(request.ParseFromArray(message.data(), static_cast<int>(message.size())));
  Response response;
  CHECK(response.ParseFromString(reply));
  for (const auto& claim : request.claims()) CHECK(response.claims().contains(claim.uid()));
  CHECK(response.claims().size() <= static_cast<std::size_t>(request.claims().size()));
}

}  // namespace

FUZZ_TARGET(kubelet_calls, bytes) {
  if (bytes.empty()) return;
  const std::size_t which = static_cast<unsigned char>(bytes.front()) % kMethods.size();
  const std::string_view message = bytes.substr(1);
  std::string reply;
  const grpc::Status status = Call(kMethods[which], message, reply);
  if (status.ok()) {
    switch (which) {
      case 0:
        CheckAnswered<v1::NodePrepareResourcesRequest, v1::NodePrepareResourcesResponse>(message,
                                                                                         reply);
        break;
      case 1:
        CheckAnswered<v1::NodeUnprepareResourcesRequest, v1::NodeUnprepareResourcesResponse>(
            message, reply);
        break;
      case 2:
        CheckAnswered<v1beta1::NodePrepareResourcesRequest, v1beta1::NodePrepareResourcesResponse>(
            message, reply);
        break;
      default:
        CheckAnswered<v1beta1::NodeUnprepareResourcesRequest,
                      v1beta1::NodeUnprepareResourcesResponse>(message, reply);
    }
  } else {
    // With "unimplemented" gRPC's own server refuses a message that cannot be parsed.
    CHECK(status.error_code() == grpc::StatusCode::UNIMPLEMENTED ||
          status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  v1::NodePrepareResourcesRequest proper;
  proper.add_claims()->set_uid("u");
  reply.clear();
  CHECK(Call(kMethods[0], proper.SerializeAsString(), reply).ok());
}
