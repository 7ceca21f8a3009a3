#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>

#include "kubelet/dra_health.grpc.pb.h"
#include "kubelet/dra_v1.grpc.pb.h"
#include "kubelet/dra_v1beta1.grpc.pb.h"
#include "kubelet/health.grpc.pb.h"
#include "kubelet/registration.grpc.pb.h"
#include "node/kubelet/call_room.h"
#include "node/kubelet/service.h"
#include "node/kubelet/socket_file.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/raw_client.h"

namespace kubelet {
namespace {

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

class Folder {
 public:
  Folder() {
    std::string path = testing::TempDir() + "kubelet.XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Answers at once, or keeps what was asked until it is told.
class FakeClaims final : public Claims {
 public:
  void Prepare(const std::vector<ClaimName>& claims, std::stop_token token, Done done) override {
    {
      const std::lock_guard lock(mutex);
      cancelled = std::move(token);
    }
    Take(claims, std::move(done), true);
  }
  void Unprepare(const std::vector<ClaimName>& claims, std::stop_token /*token*/,
                 Done done) override {
    Take(claims, std::move(done), false);
  }
  void Registered(const std::string& error) override {
    const std::lock_guard lock(mutex);
    registered.push_back(error);
  }
  std::vector<DeviceHealth> Health() override {
    const std::lock_guard lock(mutex);
    return health;
  }
  std::string Trouble() override {
    const std::lock_guard lock(mutex);
    return trouble;
  }

  void Take(const std::vector<ClaimName>& claims, Done done, bool prepares) {
    Answers answers;
    {
      const std::lock_guard lock(mutex);
      for (const ClaimName& claim : claims) {
        asked.push_back(claim);
        answers[claim.uid] = prepares ? given : Answer{.error = given.error};
      }
      if (holds) {
        held.push_back([done = std::move(done), answers] { done(answers); });
        changed.notify_all();
        return;
      }
    }
    done(answers);
  }
  void WaitForHeld(std::size_t count) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, base::kHangs, [&] { return held.size() >= count; }));
  }
  void Release() {
    std::vector<std::function<void()>> released;
    {
      const std::lock_guard lock(mutex);
      holds = false;
      released.swap(held);
    }
    for (const auto& call : released) call();
  }

  std::mutex mutex;
  std::condition_variable changed;
  Answer given = {};
  bool holds = false;
  std::stop_token cancelled = {};  // Of the last prepare.
  std::string trouble = {};
  std::vector<DeviceHealth> health = {{.is = DeviceHealth::Is::kHealthy, .pool = "p", .name = "d"}};
  std::vector<ClaimName> asked = {};
  std::vector<std::string> registered = {};
  std::vector<std::function<void()>> held = {};
};

std::shared_ptr<grpc::Channel> Dial(const std::string& path, const std::string& authority = "") {
  grpc::ChannelArguments arguments;
  // A connection of its own for each.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}
void SetDeadline(grpc::ClientContext& context) { context.set_deadline(base::HangEnd()); }

// A socket of a process that was killed.
void LeaveSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(&address.sun_path[0], sizeof(address.sun_path) - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
}

class KubeletService : public testing::Test {
 protected:
  ServiceOptions Options() const {
    return {.driver = "driver.test",
            .registry_folder = folder_.path() + "/registry",
            .plugin_folder = folder_.path() + "/plugins/driver.test",
            .daemon_namespace = "driver"};
  }
  std::unique_ptr<Service> StartWith(const ServiceOptions& options) {
    auto service = Service::Start(options, claims_);
    EXPECT_TRUE(service) << service.error().message;
    return service ? *std::move(service) : nullptr;
  }
  template <typename Stub>
  static grpc::Status Prepare(Stub& stub, const std::string& uid,
                              v1::NodePrepareResourcesResponse& response,
                              const std::string& ns = "ns") {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::NodePrepareResourcesRequest request;
    auto& claim = *request.add_claims();
    claim.set_namespace_(ns);
    claim.set_uid(uid);
    claim.set_name("name");
    return stub.NodePrepareResources(&context, request, &response);
  }
  static grpc::Status GetInfo(const std::shared_ptr<grpc::Channel>& channel,
                              pluginregistration::PluginInfo& info) {
    grpc::ClientContext context;
    SetDeadline(context);
    return pluginregistration::Registration::NewStub(channel)->GetInfo(&context, {}, &info);
  }

  Folder folder_;
  FakeClaims claims_;
};

TEST_F(KubeletService, APluginIsFoundByItsSocketAndSaysWhatItServes) {
  const auto service = StartWith(Options());
  EXPECT_EQ(service->registration(), folder_.path() + "/registry/driver.test-reg.sock");
  pluginregistration::PluginInfo info;
  ASSERT_TRUE(GetInfo(Dial(service->registration()), info).ok());
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "driver.test");
  EXPECT_EQ(info.endpoint(), folder_.path() + "/plugins/driver.test/dra.sock");
  EXPECT_EQ(
      std::vector<std::string>(info.supported_versions().begin(), info.supported_versions().end()),
      (std::vector<std::string>{"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                "v1alpha1.DRAResourceHealth"}));
}

// What Go's client says of a socket depends on its version, and on how it was told.
TEST_F(KubeletService, AKubeletIsHeardWhateverAuthorityItSends) {
  const auto service = StartWith(Options());
  std::string escaped;
  for (const char c : service->registration()) escaped += c == '/' ? "%2F" : std::string(1, c);
  for (const std::string& authority : {service->registration(), escaped, std::string("localhost"),
                                       "unix:" + service->registration()}) {
    pluginregistration::PluginInfo info;
    const auto status = GetInfo(Dial(service->registration(), authority), info);
    EXPECT_TRUE(status.ok()) << authority << ": " << status.error_message();
    v1::NodePrepareResourcesResponse response;
    const auto stub = v1::DRAPlugin::NewStub(Dial(service->endpoint(), authority));
    EXPECT_TRUE(Prepare(*stub, "u", response).ok()) << authority;
  }
}

TEST_F(KubeletService, WhetherItWasTakenIsHeardAndARefusalIsAnErrorThere) {
  const auto service = StartWith(Options());
  const auto stub = pluginregistration::Registration::NewStub(Dial(service->registration()));
  for (const bool taken : {true, false}) {
    grpc::ClientContext context;
    SetDeadline(context);
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(taken);
    status.set_error(taken ? "" : "it is old");
    pluginregistration::RegistrationStatusResponse response;
    EXPECT_EQ(stub->NotifyRegistrationStatus(&context, status, &response).ok(), taken);
  }
  EXPECT_EQ(claims_.registered, (std::vector<std::string>{"", "it is old"}));
}

TEST_F(KubeletService, WhatWasPreparedArrivesInBothVersions) {
  claims_.given = {
      .devices = {{.requests = {"r"}, .pool = "p", .name = "d", .cdi_ids = {"k=1", "k=2"}}}};
  const auto service = StartWith(Options());
  const auto channel = Dial(service->endpoint());
  v1::NodePrepareResourcesResponse response;
  ASSERT_TRUE(Prepare(*v1::DRAPlugin::NewStub(channel), "u-1", response).ok());
  EXPECT_EQ(claims_.asked, (std::vector<ClaimName>{{.ns = "ns", .uid = "u-1", .name = "name"}}));
  ASSERT_EQ(response.claims().count("u-1"), 1U);
  const auto& device = response.claims().at("u-1").devices(0);
  EXPECT_EQ(device.request_names(0) + device.pool_name() + device.device_name(), "rpd");
  EXPECT_EQ(device.cdi_device_ids(1), "k=2");
  EXPECT_FALSE(device.has_share_id());

  grpc::ClientContext context;
  SetDeadline(context);
  v1beta1::NodePrepareResourcesRequest request;
  request.add_claims()->set_uid("u-2");
  request.add_claims()->set_uid("u-3");
  v1beta1::NodePrepareResourcesResponse older;
  ASSERT_TRUE(
      v1beta1::DRAPlugin::NewStub(channel)->NodePrepareResources(&context, request, &older).ok());
  EXPECT_EQ(older.claims_size(), 2);
  EXPECT_EQ(older.claims().at("u-3").devices(0).cdi_device_ids(0), "k=1");
}

TEST_F(KubeletService, AnErrorOfAClaimIsItsOwnAndNotTheCalls) {
  claims_.given = {.error = "it waits"};
  const auto service = StartWith(Options());
  const auto stub = v1::DRAPlugin::NewStub(Dial(service->endpoint()));
  v1::NodePrepareResourcesResponse response;
  ASSERT_TRUE(Prepare(*stub, "u", response).ok());
  EXPECT_EQ(response.claims().at("u").error(), "it waits");
  grpc::ClientContext context;
  SetDeadline(context);
  v1::NodeUnprepareResourcesRequest request;
  request.add_claims()->set_uid("u");
  v1::NodeUnprepareResourcesResponse unprepared;
  ASSERT_TRUE(stub->NodeUnprepareResources(&context, request, &unprepared).ok());
  EXPECT_EQ(unprepared.claims().at("u").error(), "it waits");
}

TEST_F(KubeletService, OneThatWaitsKeepsNobodyElseWaiting) {
  claims_.holds = true;
  const auto service = StartWith(Options());
  const auto channel = Dial(service->endpoint());
  v1::NodePrepareResourcesResponse response;
  auto waits = std::async(std::launch::async,
                          [&] { return Prepare(*v1::DRAPlugin::NewStub(channel), "u", response); });
  claims_.WaitForHeld(1);
  {
    const std::lock_guard lock(claims_.mutex);
    claims_.holds = false;
  }
  v1::NodePrepareResourcesResponse other;
  EXPECT_TRUE(Prepare(*v1::DRAPlugin::NewStub(channel), "v", other).ok());
  claims_.Release();
  EXPECT_TRUE(waits.get().ok());
}

TEST_F(KubeletService, MoreThanItHoldsIsRefused) {
  claims_.holds = true;
  const auto service = StartWith(Options());
  const auto channel = Dial(service->endpoint());
  const auto stub = v1::DRAPlugin::NewStub(channel);
  v1::NodePrepareResourcesRequest many;
  for (int i = 0; i < 257; ++i) many.add_claims()->set_uid("u");
  grpc::ClientContext context;
  SetDeadline(context);
  v1::NodePrepareResourcesResponse response;
  EXPECT_EQ(stub->NodePrepareResources(&context, many, &response).error_code(),
            grpc::RESOURCE_EXHAUSTED);
  many.Clear();
  many.add_claims()->set_name(std::string(std::size_t{2} << 20U, 'x'));
  grpc::ClientContext large;
  SetDeadline(large);
  EXPECT_EQ(stub->NodePrepareResources(&large, many, &response).error_code(),
            grpc::RESOURCE_EXHAUSTED);

  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < 64; ++i) {
    calls.push_back(std::async(std::launch::async, [&, i] {
      v1::NodePrepareResourcesResponse mine;
      return Prepare(*stub, "u-" + std::to_string(i), mine);
    }));
  }
  claims_.WaitForHeld(64);
  EXPECT_EQ(Prepare(*stub, "u", response).error_code(), grpc::RESOURCE_EXHAUSTED);
  claims_.Release();
  for (auto& call : calls) EXPECT_TRUE(call.get().ok());
  EXPECT_TRUE(Prepare(*stub, "u", response).ok());
}

// Y9: channels wait for the daemon's claim, and for unprepares.
TEST_F(KubeletService, REV4_Y9_DaemonsAndUnprepares_FindRoomBesideChannels) {
  claims_.holds = true;
  const auto service = StartWith(Options());
  const auto stub = v1::DRAPlugin::NewStub(Dial(service->endpoint()));
  std::vector<std::future<grpc::Status>> calls;
  // Of one claim there may be more than places: the last is of a claim that has one.
  for (int i = 0; i < 100; ++i) {
    calls.push_back(std::async(std::launch::async, [&, i] {
      v1::NodePrepareResourcesResponse mine;
      return Prepare(*stub, "u-" + std::to_string(i % 64), mine);
    }));
  }
  claims_.WaitForHeld(100);
  v1::NodePrepareResourcesResponse response;
  EXPECT_EQ(Prepare(*stub, "another", response).error_code(), grpc::RESOURCE_EXHAUSTED);
  {
    const std::lock_guard lock(claims_.mutex);
    claims_.holds = false;
  }
  EXPECT_TRUE(Prepare(*stub, "daemon", response, "driver").ok());
  grpc::ClientContext context;
  SetDeadline(context);
  v1::NodeUnprepareResourcesRequest request;
  request.add_claims()->set_uid("another");
  v1::NodeUnprepareResourcesResponse unprepared;
  EXPECT_TRUE(stub->NodeUnprepareResources(&context, request, &unprepared).ok());
  claims_.Release();
  for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

TEST(CallRoom, REV4_Y9_Places_AreOfClaimsAndAreGivenBack) {
  const auto call = [](const std::string& uid) { return std::vector<ClaimName>{{.uid = uid}}; };
  CallRoom room;
  // A call with more claims than places finds room if there is any.
  std::vector<ClaimName> many;
  for (int i = 0; i < 100; ++i) many.push_back({.uid = "m-" + std::to_string(i)});
  ASSERT_TRUE(room.Enter(many));
  EXPECT_FALSE(room.Enter(call("a")));
  ASSERT_TRUE(room.Enter(call("m-7")));
  room.Leave(many);
  ASSERT_TRUE(room.Enter(call("a")));
  for (int i = 2; i < kCallsMax; ++i) ASSERT_TRUE(room.Enter(call("a"))) << i;
  EXPECT_FALSE(room.Enter(call("a")));
  room.Leave(call("a"));
  EXPECT_TRUE(room.Enter(call("a")));
}

TEST_F(KubeletService, WhoEndsAnswersWhatWasAskedAndRefusesWhatComes) {
  claims_.holds = true;
  auto service = StartWith(Options());
  const auto stub = v1::DRAPlugin::NewStub(Dial(service->endpoint()));
  auto waits = std::async(std::launch::async, [&] {
    v1::NodePrepareResourcesResponse response;
    return Prepare(*stub, "u", response);
  });
  claims_.WaitForHeld(1);
  EXPECT_EQ(service->open_calls(), 1);
  service->Leave();
  v1::NodePrepareResourcesResponse response;
  EXPECT_EQ(Prepare(*stub, "v", response).error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(service->open_calls(), 1);
  claims_.Release();
  EXPECT_EQ(service->open_calls(), 0);
  service.reset();
  EXPECT_TRUE(waits.get().ok());
}

TEST_F(KubeletService, ItsSocketsGoWithIt) {
  auto service = StartWith(Options());
  const std::string endpoint = service->endpoint();
  const std::string registration = service->registration();
  EXPECT_TRUE(std::filesystem::is_socket(endpoint));
  service.reset();
  EXPECT_FALSE(std::filesystem::exists(endpoint));
  EXPECT_FALSE(std::filesystem::exists(registration));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() + "/registry"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() + "/plugins/driver.test"));
}

TEST_F(KubeletService, TheNextInstanceTakesTheNamesAndTheEndOfTheOneBeforeLeavesThem) {
  auto before = StartWith(Options());
  const auto after = StartWith(Options());
  before.reset();
  pluginregistration::PluginInfo info;
  EXPECT_TRUE(GetInfo(Dial(after->registration()), info).ok());
  v1::NodePrepareResourcesResponse response;
  EXPECT_TRUE(Prepare(*v1::DRAPlugin::NewStub(Dial(after->endpoint())), "u", response).ok());
}

TEST_F(KubeletService, WhatAKilledOneLeftIsReplaced) {
  std::filesystem::create_directories(Options().plugin_folder);
  std::ofstream(Options().plugin_folder + "/dra.sock") << "no socket";
  std::ofstream(Options().plugin_folder + "/other") << "not ours";
  const auto service = StartWith(Options());
  EXPECT_TRUE(std::filesystem::is_socket(service->endpoint()));
  EXPECT_TRUE(std::filesystem::exists(Options().plugin_folder + "/other"));
}

TEST_F(KubeletService, TwoPodsOfARollingUpdateServeSideBySide) {
  ServiceOptions options = Options();
  options.pod_uid = "11111111-7b1d-4f39-8a55-3f3d0a4a9e10";
  const auto before = StartWith(options);
  options.pod_uid = "22222222-7b1d-4f39-8a55-3f3d0a4a9e10";
  const auto after = StartWith(options);
  pluginregistration::PluginInfo info;
  EXPECT_TRUE(GetInfo(Dial(before->registration()), info).ok());
  EXPECT_TRUE(info.endpoint().ends_with("/dra-11111111-7b1d-4f39-8a55-3f3d0a4a9e10.sock"));
  EXPECT_TRUE(GetInfo(Dial(after->registration()), info).ok());
  EXPECT_TRUE(info.endpoint().ends_with("/dra-22222222-7b1d-4f39-8a55-3f3d0a4a9e10.sock"));
}

// A kubelet's root folder with that many characters, below the folder of the test.
ServiceOptions UnderRoot(std::size_t length, const std::string& folder) {
  std::string root = folder + "/";
  root += std::string(length - root.size(), 'r');
  return {.driver = "compute-domain.nvidia.com",
          .registry_folder = root + "/plugins_registry",
          .plugin_folder = root + "/plugins/compute-domain.nvidia.com",
          .pod_uid = "11111111-7b1d-4f39-8a55-3f3d0a4a9e10"};
}

TEST_F(KubeletService, REV4_P9_LongRootFolder_IsServedByOneSocket) {
  // k0s has 20, microk8s 41.
  for (const std::size_t length : {22U, 41U, 60U, 80U}) {
    const ServiceOptions options = UnderRoot(length, folder_.path());
    auto service = StartWith(options);
    ASSERT_NE(service, nullptr) << length;
    EXPECT_LE(service->registration().size(), 107U) << length;
    pluginregistration::PluginInfo info;
    ASSERT_TRUE(GetInfo(Dial(service->registration()), info).ok()) << length;
    EXPECT_EQ(info.endpoint(), service->registration());
    EXPECT_EQ(info.endpoint(), service->endpoint());
    v1::NodePrepareResourcesResponse response;
    EXPECT_TRUE(Prepare(*v1::DRAPlugin::NewStub(Dial(info.endpoint())), "u", response).ok());
    EXPECT_TRUE(service->IsWell());
    service.reset();
    EXPECT_TRUE(std::filesystem::is_empty(options.registry_folder)) << length;
  }
}

TEST_F(KubeletService, REV4_P9_DefaultRootFolder_HasTheNamesOfNvidiasPlugin) {
  // /var/lib/kubelet has 16 characters.
  ServiceOptions options = UnderRoot(folder_.path().size() + 2, folder_.path());
  options.pod_uid = std::string(36 + 16 - (folder_.path().size() + 2), 'u');
  const auto service = StartWith(options);
  EXPECT_TRUE(service->registration().ends_with("/compute-domain.nvidia.com-" + options.pod_uid +
                                                "-reg.sock"));
  EXPECT_TRUE(service->endpoint().ends_with("/dra-" + options.pod_uid + ".sock"));
}

TEST_F(KubeletService, REV4_P9_InstancesUnderALongRoot_SupersedeAndRemoveEachOther) {
  ServiceOptions options = UnderRoot(80, folder_.path());
  const auto before = StartWith(options);
  options.pod_uid = "22222222-7b1d-4f39-8a55-3f3d0a4a9e10";
  auto after = StartWith(options);
  EXPECT_NE(before->registration(), after->registration());
  EXPECT_TRUE(before->IsSuperseded());
  EXPECT_FALSE(after->IsSuperseded());
  const std::string dead = options.registry_folder + "/cd-00000";
  LeaveSocket(dead);
  after.reset();
  EXPECT_FALSE(before->IsSuperseded()) << "nobody listens there";
  after = StartWith(options);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(before->registration()));
}

TEST_F(KubeletService, REV4_P9_RootFolderThatNoSocketFits_IsNamedWithTheLimit) {
  const ServiceOptions options = UnderRoot(81, folder_.path());
  const auto service = Service::Start(options, claims_);
  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().message,
            "folder " + options.registry_folder +
                " has a path of more than 97 characters, and Linux allows no socket there: choose "
                "a shorter --root-dir of the kubelet");
}

grpc::health::v1::HealthCheckResponse::ServingStatus HealthOf(const Service& service,
                                                              const std::string& name,
                                                              grpc::StatusCode expected) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(service.health_port()),
                                           grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  SetDeadline(context);
  context.set_wait_for_ready(true);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(name);
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_EQ(
      grpc::health::v1::Health::NewStub(channel)->Check(&context, request, &response).error_code(),
      expected);
  return response.status();
}

TEST_F(KubeletService, ProbesAreToldWhetherItServes) {
  using Response = grpc::health::v1::HealthCheckResponse;
  ServiceOptions options = Options();
  options.health_port = 0;
  const auto service = StartWith(options);
  EXPECT_EQ(HealthOf(*service, "liveness", grpc::OK), Response::SERVING);
  EXPECT_EQ(HealthOf(*service, "", grpc::OK), Response::SERVING);
  HealthOf(*service, "other", grpc::NOT_FOUND);
  claims_.trouble = "it hangs";
  EXPECT_EQ(HealthOf(*service, "liveness", grpc::OK), Response::NOT_SERVING);
  claims_.trouble.clear();
  std::filesystem::remove(service->endpoint());
  EXPECT_EQ(HealthOf(*service, "liveness", grpc::OK), Response::NOT_SERVING);
}

// So that in a rolling update the one before stays until the kubelet knows the next.
TEST_F(KubeletService, ProbesAreToldWhetherTheKubeletHasRegisteredIt) {
  using Response = grpc::health::v1::HealthCheckResponse;
  ServiceOptions options = Options();
  options.health_port = 0;
  const auto service = StartWith(options);
  EXPECT_EQ(HealthOf(*service, "registration", grpc::OK), Response::NOT_SERVING);
  EXPECT_EQ(HealthOf(*service, "liveness", grpc::OK), Response::SERVING);
  const auto stub = pluginregistration::Registration::NewStub(Dial(service->registration()));
  for (const bool taken : {true, false, true}) {
    grpc::ClientContext context;
    SetDeadline(context);
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(taken);
    pluginregistration::RegistrationStatusResponse response;
    static_cast<void>(stub->NotifyRegistrationStatus(&context, status, &response));
    EXPECT_EQ(HealthOf(*service, "registration", grpc::OK),
              taken ? Response::SERVING : Response::NOT_SERVING);
    EXPECT_EQ(service->IsRegistered(), taken);
    EXPECT_TRUE(service->IsWell());
  }
  std::filesystem::remove(service->endpoint());
  EXPECT_FALSE(service->IsWell());
  EXPECT_FALSE(service->IsRegistered());
}

// As a client of gRPC begins: without it the server hangs up soon.
void SayHello(const http::testing::RawClient& client) {
  client.Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  client.Write(std::string_view("\0\0\0\4\0\0\0\0\0", 9));
}

TEST_F(KubeletService, REV3_X4_ConnectionToTheHealthPortThatAsksNothingIsClosed) {
  ServiceOptions options = Options();
  options.health_port = 0;
  const auto service = StartWith(options);
  const http::testing::RawClient silent(service->health_port());
  const http::testing::RawClient idle(service->health_port());
  SayHello(idle);
  // Each returns once the server has closed it: after 2 s, and after 5 s.
  static_cast<void>(silent.ReadAll());
  static_cast<void>(idle.ReadAll());
  EXPECT_EQ(HealthOf(*service, "liveness", grpc::OK),
            grpc::health::v1::HealthCheckResponse::SERVING);
}

int OpenDescriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// Without a bound a pod takes all descriptors that the process may have.
TEST_F(KubeletService, REV3_X4_ConnectionsToTheHealthPortHoldUpNeitherProbesNorTheKubelet) {
  constexpr int kMany = 300;
  ServiceOptions options = Options();
  options.health_port = 0;
  const auto service = StartWith(options);
  const int before = OpenDescriptors();
  std::vector<std::unique_ptr<http::testing::RawClient>> idle;
  for (int i = 0; i < kMany; ++i) {
    idle.push_back(std::make_unique<http::testing::RawClient>(service->health_port()));
    SayHello(*idle.back());
  }
  EXPECT_EQ(HealthOf(*service, "liveness", grpc::OK),
            grpc::health::v1::HealthCheckResponse::SERVING);
  const auto stub = pluginregistration::Registration::NewStub(Dial(service->registration()));
  grpc::ClientContext context;
  SetDeadline(context);
  pluginregistration::PluginInfo info;
  EXPECT_TRUE(stub->GetInfo(&context, {}, &info).ok());
  // Each is open here, and 64 at the server, in two descriptors each; some are about to be closed.
  EXPECT_LT(OpenDescriptors() - before - kMany, 250);
}

TEST_F(KubeletService, APortThatIsTakenIsSaid) {
  ServiceOptions options = Options();
  options.health_port = 0;
  const auto service = StartWith(options);
  options.health_port = service->health_port();
  options.pod_uid = "next";
  const auto second = Service::Start(options, claims_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("--healthcheck-port"), std::string::npos);
}

TEST_F(KubeletService, WhoListensHearsOfDevicesAndOfEachChange) {
  const auto service = StartWith(Options());
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(Dial(service->endpoint()));
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub->NodeWatchResources(&context, {});
  v1alpha1::NodeWatchResourcesResponse heard;
  ASSERT_TRUE(stream->Read(&heard));
  ASSERT_EQ(heard.devices_size(), 1);
  EXPECT_EQ(heard.devices(0).device().pool_name() + heard.devices(0).device().device_name(), "pd");
  EXPECT_EQ(heard.devices(0).health(), v1alpha1::HEALTHY);
  EXPECT_EQ(heard.devices(0).health_check_timeout_seconds(), 30);
  EXPECT_GT(heard.devices(0).last_updated_time(), 1'700'000'000);
  {
    const std::lock_guard lock(claims_.mutex);
    claims_.health[0].is = DeviceHealth::Is::kUnhealthy;
    claims_.health[0].message = std::string(2000, 'x');
  }
  ASSERT_TRUE(stream->Read(&heard));
  EXPECT_EQ(heard.devices(0).health(), v1alpha1::UNHEALTHY);
  EXPECT_EQ(heard.devices(0).message().size(), 1024U);
  context.TryCancel();
}

TEST_F(KubeletService, REV3_N19_HealthMessageIsCutBetweenCharacters) {
  claims_.health[0].message = std::string(1023, 'x') + "\xc3\xa9";
  const auto service = StartWith(Options());
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(Dial(service->endpoint()));
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub->NodeWatchResources(&context, {});
  v1alpha1::NodeWatchResourcesResponse heard;
  ASSERT_TRUE(stream->Read(&heard));
  EXPECT_EQ(heard.devices(0).message(), std::string(1023, 'x'));
  context.TryCancel();
}

TEST_F(KubeletService, AStreamEndsWhenItsKubeletLeavesAndWithTheService) {
  auto service = StartWith(Options());
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(Dial(service->endpoint()));
  v1alpha1::NodeWatchResourcesResponse heard;
  {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = stub->NodeWatchResources(&context, {});
    ASSERT_TRUE(stream->Read(&heard));
    context.TryCancel();
    while (stream->Read(&heard)) {
    }
    EXPECT_EQ(stream->Finish().error_code(), grpc::CANCELLED);
  }
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub->NodeWatchResources(&context, {});
  ASSERT_TRUE(stream->Read(&heard));
  service->Leave();
  while (stream->Read(&heard)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  service.reset();
}

// A kubelet keeps its connection, and asks for the stream again as soon as it ends.
TEST_F(KubeletService, REV4_P9_OneSocket_EndsWhileItsKubeletAsksAgain) {
  auto service = StartWith(UnderRoot(60, folder_.path()));
  const std::string endpoint = service->endpoint();
  const auto channel = Dial(endpoint);
  std::atomic<bool> is_over = false;
  std::jthread kubelet([&] {
    const auto stub = v1alpha1::DRAResourceHealth::NewStub(channel);
    while (!is_over) {
      grpc::ClientContext context;
      SetDeadline(context);
      v1alpha1::NodeWatchResourcesResponse heard;
      const auto stream = stub->NodeWatchResources(&context, {});
      while (stream->Read(&heard)) {
      }
      static_cast<void>(stream->Finish());
    }
  });
  pluginregistration::PluginInfo info;
  EXPECT_TRUE(GetInfo(channel, info).ok());
  service.reset();
  is_over = true;
  EXPECT_FALSE(std::filesystem::exists(endpoint));
}

TEST_F(KubeletService, NoMoreThan8ListenAtOnce) {
  const auto service = StartWith(Options());
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(Dial(service->endpoint()));
  v1alpha1::NodeWatchResourcesResponse heard;
  std::array<grpc::ClientContext, 9> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1alpha1::NodeWatchResourcesResponse>>> streams;
  for (grpc::ClientContext& context : contexts) {
    SetDeadline(context);
    streams.push_back(stub->NodeWatchResources(&context, {}));
    EXPECT_EQ(streams.back()->Read(&heard), streams.size() < contexts.size());
  }
  EXPECT_EQ(streams.back()->Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  for (grpc::ClientContext& context : contexts) context.TryCancel();
}

TEST_F(KubeletService, REV3_N1_KubeletThatCancelsIsNoticed) {
  claims_.holds = true;
  const auto service = StartWith(Options());
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::Status status;
  std::jthread kubelet([&] {
    v1::NodePrepareResourcesRequest request;
    request.add_claims()->set_uid("u");
    v1::NodePrepareResourcesResponse response;
    status = v1::DRAPlugin::NewStub(Dial(service->endpoint()))
                 ->NodePrepareResources(&context, request, &response);
  });
  claims_.WaitForHeld(1);
  const std::stop_token cancelled = claims_.cancelled;
  EXPECT_FALSE(cancelled.stop_requested());
  std::promise<void> noticed;
  const std::stop_callback notice(cancelled, [&] { noticed.set_value(); });
  context.TryCancel();
  EXPECT_EQ(noticed.get_future().wait_for(base::kHangs), std::future_status::ready);
  kubelet.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(service->open_calls(), 1) << "it is to be answered all the same";
  claims_.Release();
  EXPECT_EQ(service->open_calls(), 0);
}

TEST_F(KubeletService, REV3_N3_InstanceWithAYoungerSocketSupersedesTheOther) {
  ServiceOptions older = Options();
  older.pod_uid = "bbbb";
  ServiceOptions younger = Options();
  younger.pod_uid = "aaaa";
  const auto first = StartWith(older);
  EXPECT_FALSE(first->IsSuperseded());
  auto second = StartWith(younger);
  EXPECT_TRUE(first->IsSuperseded());
  EXPECT_TRUE(first->HasYounger());
  EXPECT_FALSE(second->IsSuperseded());
  EXPECT_FALSE(second->HasYounger());
  EXPECT_TRUE(second->HasElder());
  EXPECT_FALSE(first->HasElder());
  second.reset();
  EXPECT_FALSE(first->IsSuperseded());
  LeaveSocket(folder_.path() + "/registry/driver.test-cccc-reg.sock");
  EXPECT_FALSE(first->IsSuperseded()) << "nobody listens there";
  EXPECT_FALSE(first->HasYounger());
}

TEST_F(KubeletService, REV3_N3_InstanceWhoseSocketWasReplacedIsSuperseded) {
  const auto first = StartWith(Options());
  const auto second = StartWith(Options());
  EXPECT_TRUE(first->IsSuperseded());
  EXPECT_TRUE(first->HasYounger());
  EXPECT_FALSE(second->IsSuperseded());
}

TEST_F(KubeletService, InstanceWhoseSocketIsGoneHasNoYoungerOne) {
  const auto service = StartWith(Options());
  ASSERT_TRUE(std::filesystem::remove(service->registration()));
  EXPECT_TRUE(service->IsSuperseded()) << "the kubelet does not find it";
  EXPECT_FALSE(service->HasYounger());
}

TEST_F(KubeletService, REV3_N20_SocketsOfKilledInstancesAreRemoved) {
  ServiceOptions options = Options();
  options.pod_uid = "aaaa";
  const auto alive = StartWith(options);
  const std::string registry = folder_.path() + "/registry/";
  LeaveSocket(registry + "driver.test-dead-reg.sock");
  LeaveSocket(registry + "other.test-reg.sock");
  LeaveSocket(Options().plugin_folder + "/dra-dead.sock");
  options.pod_uid = "bbbb";
  const auto service = StartWith(options);
  namespace fs = std::filesystem;
  EXPECT_FALSE(fs::exists(registry + "driver.test-dead-reg.sock"));
  EXPECT_FALSE(fs::exists(Options().plugin_folder + "/dra-dead.sock"));
  EXPECT_TRUE(fs::exists(registry + "other.test-reg.sock")) << "it is another driver's";
  EXPECT_TRUE(fs::exists(alive->registration()));
  EXPECT_TRUE(fs::exists(alive->endpoint()));
}

// Other drivers put their sockets into the same folder.
TEST(ShortName, REV4_P9_NoOtherSocketIsTakenForOneOfOurs) {
  constexpr const char* kDriver = "compute-domain.nvidia.com";
  const std::string name = ShortName(kDriver, "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a");
  EXPECT_TRUE(name.starts_with("cd-")) << "as older instances are called";
  EXPECT_TRUE(IsShortName(kDriver, name));
  for (const char* other : {"cd-", "cd-0000", "cd-000000", "cd-0000w", "cd-x.example-reg.sock",
                            "xcd-00000", "CD-00000"}) {
    EXPECT_FALSE(IsShortName(kDriver, other)) << other;
  }
}

// One of them would take the other for its successor, and publish nothing.
TEST(ShortName, TwoDriversInOnePod_HaveTheirOwn) {
  constexpr const char* kPod = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a";
  const std::string gpu = ShortName("gpu.nvidia.com", kPod);
  const std::string domain = ShortName("compute-domain.nvidia.com", kPod);
  EXPECT_TRUE(gpu.starts_with("g-"));
  EXPECT_TRUE(IsShortName("gpu.nvidia.com", gpu));
  EXPECT_FALSE(IsShortName("gpu.nvidia.com", domain));
  EXPECT_FALSE(IsShortName("compute-domain.nvidia.com", gpu));
  EXPECT_EQ(ShortName("one-two-three.example", kPod).substr(0, 3), "ot-")
      << "its length is bounded";
}

}  // namespace
}  // namespace kubelet
