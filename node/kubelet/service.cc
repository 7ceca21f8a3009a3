#include "node/kubelet/service.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kubelet/dra_health.grpc.pb.h"
#include "kubelet/dra_v1.grpc.pb.h"
#include "kubelet/dra_v1beta1.grpc.pb.h"
#include "kubelet/health.grpc.pb.h"
#include "kubelet/registration.grpc.pb.h"
#include "node/kubelet/call_room.h"
#include "node/kubelet/capped_listener.h"
#include "node/kubelet/socket_file.h"
#include "pkg/json/utf8.h"

namespace kubelet {

namespace {

using base::Result;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr int kMessageMax = 1 << 20;
constexpr int kClaimsMax = 256;
constexpr std::size_t kMemoryMax = std::size_t{32} << 20U;  // For connections and messages.
constexpr std::size_t kStreamsMax = 8;
constexpr std::size_t kHealthMessageMax = 1024;
constexpr std::chrono::seconds kHealthTurn{1};
constexpr int kAgainAfterTurns = 10;
constexpr std::chrono::seconds kBelievedFor{30};  // Trust without a further message.
// Limits of a connection to the health port: until it uses HTTP/2, without a call, and in total.
constexpr std::chrono::seconds kHandshakeMost{2};
constexpr std::chrono::seconds kIdleMost{5};
constexpr std::chrono::seconds kAgeMost{10};
// For answers in progress when the service ends.
constexpr std::chrono::seconds kDrain{5};

int Milliseconds(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// Names that the kubelet knows. It uses the first one that it supports.
constexpr std::array<const char*, 3> kVersions = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                                  "v1alpha1.DRAResourceHealth"};

ServerUnaryReactor* FinishWith(CallbackServerContext* context, const grpc::Status& status) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

template <typename Request>
std::vector<ClaimName> NamesIn(const Request& request) {
  std::vector<ClaimName> names;
  for (const auto& claim : request.claims()) {
    names.push_back({.ns = claim.namespace_(), .uid = claim.uid(), .name = claim.name()});
  }
  return names;
}

template <typename Response>
void Put(const Answers& answers, Response& response) {
  for (const auto& [uid, answer] : answers) {
    auto& claim = (*response.mutable_claims())[uid];
    claim.set_error(answer.error);
    // A response to unprepare has no devices.
    if constexpr (requires { claim.add_devices(); }) {
      for (const Device& device : answer.devices) {
        auto& put = *claim.add_devices();
        for (const std::string& request : device.requests) put.add_request_names(request);
        put.set_pool_name(device.pool);
        put.set_device_name(device.name);
        for (const std::string& id : device.cdi_ids) put.add_cdi_device_ids(id);
      }
    }
  }
}

// Calls of both versions together.
struct Calls {
  explicit Calls(std::string ns) : daemon_namespace(std::move(ns)) {}

  CallRoom& RoomFor(const std::vector<ClaimName>& claims, bool prepares) {
    if (!prepares) return unprepares;
    const auto is_daemons = [this](const ClaimName& claim) { return claim.ns == daemon_namespace; };
    return std::ranges::all_of(claims, is_daemons) ? daemons : pods;
  }

  const std::string daemon_namespace;
  std::atomic<int> open = 0;
  std::atomic<bool> leaving = false;
  CallRoom unprepares = {};
  CallRoom daemons = {};
  CallRoom pods = {};
};

// A call that is answered later. Owns itself until gRPC no longer needs it.
class PendingCall final : public ServerUnaryReactor {
 public:
  std::stop_token cancelled() const { return cancel_.get_token(); }
  void OnCancel() override { cancel_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  ~PendingCall() override = default;

  std::stop_source cancel_;
};

// The DRA service in one version. The types of the versions differ in their namespace only.
template <typename Base, typename PrepareRequest, typename PrepareResponse,
          typename UnprepareRequest, typename UnprepareResponse>
class Dra final : public Base {
 public:
  Dra(Claims& claims, Calls& calls) : claims_(claims), calls_(calls) {}

  ServerUnaryReactor* NodePrepareResources(CallbackServerContext* context,
                                           const PrepareRequest* request,
                                           PrepareResponse* response) override {
    return Serve(context, *request, *response, true);
  }
  ServerUnaryReactor* NodeUnprepareResources(CallbackServerContext* context,
                                             const UnprepareRequest* request,
                                             UnprepareResponse* response) override {
    return Serve(context, *request, *response, false);
  }

 private:
  template <typename Request, typename Response>
  ServerUnaryReactor* Serve(CallbackServerContext* context, const Request& request,
                            Response& response, bool prepares) {
    if (request.claims_size() > kClaimsMax) {
      return FinishWith(context, {grpc::RESOURCE_EXHAUSTED, "more than 256 claims at once"});
    }
    // In this order: a thread that counts open calls after Leave() misses no call that starts.
    ++calls_.open;
    if (calls_.leaving) {
      --calls_.open;
      return FinishWith(context, {grpc::UNAVAILABLE, "the plugin is ending"});
    }
    const std::vector<ClaimName> names = NamesIn(request);
    CallRoom& room = calls_.RoomFor(names, prepares);
    if (!room.Enter(names)) {
      --calls_.open;
      return FinishWith(context,
                        {grpc::RESOURCE_EXHAUSTED,
                         "64 claims or 256 calls wait on this node already; the kubelet retries"});
    }
    auto* call = new PendingCall();
    const auto finish = [this, &response, call, names, &room](const Answers& answers) {
      Put(answers, response);
      room.Leave(names);
      --calls_.open;
      call->Finish(grpc::Status::OK);  // Last, because it destroys the call and response.
    };
    if (prepares) claims_.Prepare(names, call->cancelled(), finish);
    if (!prepares) claims_.Unprepare(names, call->cancelled(), finish);
    return call;
  }

  Claims& claims_;
  Calls& calls_;
};
using DraV1 = Dra<v1::DRAPlugin::CallbackService, v1::NodePrepareResourcesRequest,
                  v1::NodePrepareResourcesResponse, v1::NodeUnprepareResourcesRequest,
                  v1::NodeUnprepareResourcesResponse>;
using DraV1Beta1 =
    Dra<v1beta1::DRAPlugin::CallbackService, v1beta1::NodePrepareResourcesRequest,
        v1beta1::NodePrepareResourcesResponse, v1beta1::NodeUnprepareResourcesRequest,
        v1beta1::NodeUnprepareResourcesResponse>;

using HealthList = v1alpha1::NodeWatchResourcesResponse;

v1alpha1::HealthStatus StatusOf(DeviceHealth::Is is) {
  if (is == DeviceHealth::Is::kHealthy) return v1alpha1::HEALTHY;
  return is == DeviceHealth::Is::kUnhealthy ? v1alpha1::UNHEALTHY : v1alpha1::UNKNOWN;
}

void Put(const DeviceHealth& health, v1alpha1::DeviceHealth& put) {
  put.mutable_device()->set_pool_name(health.pool);
  put.mutable_device()->set_device_name(health.name);
  put.set_health(StatusOf(health.is));
  put.set_last_updated_time(gpr_now(GPR_CLOCK_REALTIME).tv_sec);
  put.set_health_check_timeout_seconds(kBelievedFor.count());
  // gRPC refuses a message that ends within a character.
  put.set_message(std::string(json::Prefix(health.message, kHealthMessageMax)));
}

// A stream to a kubelet. Sends one message at a time. Later changes are in the next one.
//
// Here and below not base::Mutex: gRPC's headers define macros with the same names as its own.
class HealthStream final : public grpc::ServerWriteReactor<HealthList> {
 public:
  explicit HealthStream(std::function<void(HealthStream*)> over) : over_(std::move(over)) {}

  // With `again`, also sends a list that has not changed.
  void Offer(const std::vector<DeviceHealth>& devices, bool again) {
    {
      const std::lock_guard lock(mutex_);
      if (is_over_ || is_writing_ || (devices == sent_ && !again)) return;
      is_writing_ = true;
      sent_ = devices;
      list_.Clear();
      for (const DeviceHealth& device : devices) Put(device, *list_.add_devices());
    }
    StartWrite(&list_);
  }
  // Ends after the write in progress, because gRPC accepts nothing after the end.
  void End(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_over_, true)) return;
      end_ = status;
      if (is_writing_) return;
    }
    Finish(status);
  }
  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      is_writing_ = false;
      if (!ok && !std::exchange(is_over_, true)) end_ = grpc::Status::CANCELLED;
      if (!is_over_) return;
    }
    Finish(end_);
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override { over_(this); }

 private:
  const std::function<void(HealthStream*)> over_;
  std::mutex mutex_;
  bool is_over_ = false;
  grpc::Status end_;
  bool is_writing_ = false;
  std::vector<DeviceHealth> sent_;
  HealthList list_;  // Unchanged while a write is in progress.
};

class DevicesHealth final : public v1alpha1::DRAResourceHealth::CallbackService {
 public:
  explicit DevicesHealth(Claims& claims)
      : claims_(claims), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  grpc::ServerWriteReactor<HealthList>* NodeWatchResources(
      CallbackServerContext* /*context*/,
      const v1alpha1::NodeWatchResourcesRequest* /*request*/) override {
    auto stream = std::make_shared<HealthStream>([this](HealthStream* over) { Forget(over); });
    bool is_refused = false;
    {
      const std::lock_guard lock(mutex_);
      is_refused = is_leaving_ || streams_.size() >= kStreamsMax;
      streams_[stream.get()] = stream;
    }
    // Otherwise the next turn sends to it.
    if (is_refused) {
      stream->End({grpc::RESOURCE_EXHAUSTED, "no more than 8 streams at once"});
    }
    return stream.get();
  }
  // Ends all streams, now and later.
  void Leave() {
    {
      const std::lock_guard lock(mutex_);
      is_leaving_ = true;
    }
    for (const auto& stream : Streams()) stream->End(grpc::Status::OK);
  }

 private:
  using Stream = std::shared_ptr<HealthStream>;

  void Run(const std::stop_token& stop) {
    for (int turn = 1; Wait(stop); ++turn) {
      const std::vector<Stream> streams = Streams();
      if (streams.empty()) continue;
      const std::vector<DeviceHealth> devices = claims_.Health();
      for (const Stream& stream : streams) stream->Offer(devices, turn % kAgainAfterTurns == 0);
    }
  }
  // Waits for a second. Returns false if the service ends.
  bool Wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    stopped_cv_.wait_for(lock, stop, kHealthTurn, [] { return false; });
    return !stop.stop_requested();
  }
  // Returns a copy, because no reactor may be called under the lock.
  std::vector<Stream> Streams() {
    const std::lock_guard lock(mutex_);
    std::vector<Stream> streams;
    streams.reserve(streams_.size());
    for (const auto& [key, stream] : streams_) streams.push_back(stream);
    return streams;
  }
  void Forget(HealthStream* over) {
    Stream last;  // Is destroyed after the lock.
    const std::lock_guard lock(mutex_);
    const auto it = streams_.find(over);
    if (it == streams_.end()) return;
    last = std::move(it->second);
    streams_.erase(it);
  }

  Claims& claims_;
  std::mutex mutex_;
  std::condition_variable_any stopped_cv_;
  bool is_leaving_ = false;
  std::map<HealthStream*, Stream> streams_;
  std::jthread thread_;  // Last, because it uses the others.
};

class Registration final : public pluginregistration::Registration::CallbackService {
 public:
  Registration(std::string driver, std::string endpoint, Claims& claims)
      : driver_(std::move(driver)), endpoint_(std::move(endpoint)), claims_(claims) {}

  ServerUnaryReactor* GetInfo(CallbackServerContext* context,
                              const pluginregistration::InfoRequest* /*request*/,
                              pluginregistration::PluginInfo* response) override {
    response->set_type("DRAPlugin");
    response->set_name(driver_);
    response->set_endpoint(endpoint_);
    for (const char* version : kVersions) response->add_supported_versions(version);
    return FinishWith(context, grpc::Status::OK);
  }
  ServerUnaryReactor* NotifyRegistrationStatus(
      CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse* /*response*/) override {
    const std::string error = request->error().empty() ? "for no reason given" : request->error();
    is_registered_ = request->plugin_registered();
    claims_.Registered(request->plugin_registered() ? "" : error);
    if (request->plugin_registered()) return FinishWith(context, grpc::Status::OK);
    return FinishWith(context, {grpc::FAILED_PRECONDITION, "not registered: " + error});
  }

  bool IsRegistered() const { return is_registered_; }

 private:
  const std::string driver_;
  const std::string endpoint_;
  Claims& claims_;
  std::atomic<bool> is_registered_ = false;
};

class Health final : public grpc::health::v1::Health::CallbackService {
 public:
  // Services by name.
  explicit Health(std::map<std::string, std::function<bool()>> is_well)
      : is_well_(std::move(is_well)) {}

  ServerUnaryReactor* Check(CallbackServerContext* context,
                            const grpc::health::v1::HealthCheckRequest* request,
                            grpc::health::v1::HealthCheckResponse* response) override {
    const auto known = is_well_.find(request->service());
    if (known == is_well_.end()) {
      return FinishWith(context, {grpc::NOT_FOUND, "services are \"\", liveness and registration"});
    }
    response->set_status(known->second() ? grpc::health::v1::HealthCheckResponse::SERVING
                                         : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
    return FinishWith(context, grpc::Status::OK);
  }

 private:
  const std::map<std::string, std::function<bool()>> is_well_;
};

constexpr std::string_view kRegistrationSuffix = "-reg.sock";
constexpr std::string_view kDraPrefix = "dra";
constexpr std::string_view kDraSuffix = ".sock";

// Returns the paths of the sockets by which instances of the driver register.
std::vector<std::string> RegistrationsIn(const std::string& folder, const std::string& driver) {
  std::vector<std::string> paths = SocketsIn(folder, driver, kRegistrationSuffix);
  std::ranges::copy_if(SocketsIn(folder, "", ""), std::back_inserter(paths),
                       [&driver](const std::string& path) {
                         return IsShortName(driver, path.substr(path.rfind('/') + 1));
                       });
  return paths;
}

class GrpcService final : public Service {
 public:
  GrpcService(const ServiceOptions& options, Claims& claims, std::optional<SocketFile> serves,
              SocketFile registers)
      : driver_(options.driver),
        registry_folder_(options.registry_folder),
        claims_(claims),
        dra_socket_(std::move(serves)),
        registration_socket_(std::move(registers)),
        calls_(options.daemon_namespace),
        dra_v1_(claims, calls_),
        dra_v1beta1_(claims, calls_),
        devices_health_(claims),
        registration_(options.driver, GrpcService::endpoint(), claims),
        health_({{"", [this] { return IsWell(); }},
                 {"liveness", [this] { return IsWell(); }},
                 {"registration", [this] { return IsRegistered(); }}}) {
    quota_.Resize(kMemoryMax);
  }
  ~GrpcService() override;
  GrpcService(const GrpcService&) = delete;
  GrpcService& operator=(const GrpcService&) = delete;

  Result<void> Serve(const std::optional<int>& port);

  std::string endpoint() const override {
    return dra_socket_ ? dra_socket_->path() : registration();
  }
  std::string registration() const override { return registration_socket_.path(); }
  int health_port() const override {
    return probe_listener_ == nullptr ? 0 : probe_listener_->port();
  }
  bool IsWell() const override {
    return claims_.Trouble().empty() && (!dra_socket_ || dra_socket_->IsOurs()) &&
           registration_socket_.IsOurs();
  }
  bool IsRegistered() const override { return registration_.IsRegistered() && IsWell(); }
  bool IsSuperseded() const override {
    return !registration_socket_.IsOurs() || HasOther(IsYounger);
  }
  bool HasYounger() const override {
    return HasOther(IsYounger) || (!registration_socket_.IsOurs() && IsServed(registration()));
  }
  bool HasElder() const override {
    return HasOther(
        [](const std::string& other, const std::string& own) { return IsYounger(own, other); });
  }
  void Leave() override {
    calls_.leaving = true;
    devices_health_.Leave();
  }
  int open_calls() const override { return calls_.open; }

 private:
  Result<void> Listen(const SocketFile& socket, const std::vector<grpc::Service*>& services,
                      std::unique_ptr<grpc::Server>& server);
  Result<void> ListenForProbes(int port);
  // Returns whether another instance serves whose socket is meant.
  bool HasOther(bool (*is_meant)(const std::string& other, const std::string& own)) const;

  const std::string driver_;
  const std::string registry_folder_;
  Claims& claims_;
  std::optional<SocketFile> dra_socket_;  // Empty if the other one serves everything.
  SocketFile registration_socket_;
  Calls calls_;
  DraV1 dra_v1_;
  DraV1Beta1 dra_v1beta1_;
  DevicesHealth devices_health_;
  Registration registration_;
  Health health_;
  grpc::ResourceQuota quota_;
  // Last, because they use the others.
  std::unique_ptr<grpc::Server> dra_server_;
  std::unique_ptr<grpc::Server> registration_server_;
  std::unique_ptr<grpc::Server> health_server_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> probe_acceptor_;
  std::unique_ptr<CappedListener> probe_listener_;
};

Result<void> GrpcService::Listen(const SocketFile& socket,
                                 const std::vector<grpc::Service*>& services,
                                 std::unique_ptr<grpc::Server>& server) {
  const std::string address = "unix:" + socket.bind_path();
  grpc::ServerBuilder builder;
  int listens = 0;  // gRPC sets it to 1 for a unix socket.
  builder.SetMaxReceiveMessageSize(kMessageMax);
  builder.SetResourceQuota(quota_);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &listens);
  for (grpc::Service* service : services) builder.RegisterService(service);
  server = builder.BuildAndStart();
  if (server != nullptr && listens != 0) return {};
  return base::Unavailable("listen on " + address + " fails");
}

// Any pod may connect to the port, so no connection stays longer than a probe takes.
Result<void> GrpcService::ListenForProbes(int port) {
  probe_listener_ = TRY(CappedListener::Listen(port).map_error([](base::Error error) {
    error.message += ": is the port taken? choose another by --healthcheck-port";
    return error;
  }));
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(kHandshakeMost));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(kIdleMost));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(kAgeMost));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(kIdleMost));
  builder.SetMaxReceiveMessageSize(kMessageMax);
  builder.SetResourceQuota(quota_);
  builder.RegisterService(&health_);
  using FromFd = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  probe_acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      FromFd::FROM_FD, grpc::InsecureServerCredentials());
  health_server_ = builder.BuildAndStart();
  if (health_server_ == nullptr) return base::Unavailable("serve probes by gRPC fails");
  probe_listener_->Serve([this](int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    probe_acceptor_->HandleNewConnection(&connection);
  });
  return {};
}

Result<void> GrpcService::Serve(const std::optional<int>& port) {
  if (port) TRY(ListenForProbes(*port));
  std::vector<grpc::Service*> services = {&dra_v1_, &dra_v1beta1_, &devices_health_};
  // In this order: a kubelet that finds the registration connects to the other socket at once.
  if (dra_socket_) {
    TRY(Listen(*dra_socket_, services, dra_server_));
    TRY(dra_socket_->Publish());
    services.clear();
  }
  services.push_back(&registration_);
  TRY(Listen(registration_socket_, services, registration_server_));
  return registration_socket_.Publish();
}

bool GrpcService::HasOther(bool (*is_meant)(const std::string& other,
                                            const std::string& own)) const {
  const auto sockets = RegistrationsIn(registry_folder_, driver_);
  return std::ranges::any_of(sockets, [&](const std::string& path) {
    return is_meant(path, registration()) && IsServed(path);
  });
}

GrpcService::~GrpcService() {
  Leave();
  probe_listener_.reset();
  const gpr_timespec drain = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                          gpr_time_from_seconds(kDrain.count(), GPR_TIMESPAN));
  for (const auto* server : {&registration_server_, &dra_server_, &health_server_}) {
    if (*server == nullptr) continue;
    (*server)->Shutdown(drain);
    (*server)->Wait();
  }
}

}  // namespace

Result<std::unique_ptr<Service>> Service::Start(const ServiceOptions& options, Claims& claims) {
  const std::string mark = options.pod_uid.empty() ? "" : "-" + options.pod_uid;
  const std::string dra = std::string(kDraPrefix) + mark + std::string(kDraSuffix);
  std::string registry = options.driver + mark + std::string(kRegistrationSuffix);
  std::optional<SocketFile> serves;
  if (SocketFile::Fits(options.plugin_folder, dra) &&
      SocketFile::Fits(options.registry_folder, registry)) {
    serves.emplace(TRY(SocketFile::At(options.plugin_folder, dra)));
  } else {
    registry = ShortName(options.driver, options.pod_uid);
  }
  auto registers = TRY(SocketFile::At(options.registry_folder, registry));
  RemoveDead(SocketsIn(options.plugin_folder, kDraPrefix, kDraSuffix));
  RemoveDead(RegistrationsIn(options.registry_folder, options.driver));
  auto service =
      std::make_unique<GrpcService>(options, claims, std::move(serves), std::move(registers));
  TRY(service->Serve(options.health_port));
  return service;
}

}  // namespace kubelet
