#include "test/bench/stage.h"

#include <csignal>
#include <fstream>
#include <stop_token>
#include <utility>

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/runtime/wait.h"
#include "test/bench/objects.h"

namespace bench {

namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using json::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kLeaseName = "cdom-controller";

class NoCredentials final : public http::Credentials {
 public:
  std::string BearerToken() override { return {}; }
  void Invalidate() override {}
};

}  // namespace

bool IsOurs(const AuditEvent& event) {
  return event.user == kControllerUser && event.resource != "leases";
}

bool IsStatusWrite(const AuditEvent& event) {
  return event.user == kControllerUser && event.Succeeded() && event.IsWrite() &&
         event.IsOn("computedomains/status");
}

Stage::Stage(StageOptions options, kube::ClientConfig& admin, const base::Clock& clock)
    : options_(std::move(options)),
      admin_(admin),
      clock_(clock),
      transport_(admin.endpoint, *admin.credentials, "cdom-bench"),
      audit_(options_.plane + "/audit.log") {}

Result<Value> Stage::Send(const http::Request& request) {
  const http::Response reply = TRY(kube::CheckStatus(transport_.Send(request), request.method));
  return json::Parse(reply.body);
}

Result<Value> Stage::Get(const kube::Resource& resource, const kube::ObjectKey& key) {
  return Send(kube::GetRequest(resource, key));
}

Result<Value::Items> Stage::List(const kube::Resource& resource,
                                 const std::string& label_selector) {
  const Value list = TRY(Send(kube::ListRequest(resource, {.label_selector = label_selector})));
  return list["items"].items();
}

Load Stage::NewLoad() const { return {admin_.endpoint, *admin_.credentials, kInFlight}; }

std::unique_ptr<http::Transport> Stage::NewConnection() const {
  return std::make_unique<http::CurlTransport>(admin_.endpoint, *admin_.credentials, "cdom-bench");
}

Result<void> Stage::Nodesim(const std::string& command) {
  NoCredentials nobody;
  http::CurlTransport transport({.url = options_.nodesim_url}, nobody, "cdom-bench");
  const http::Request request = {.method = http::Method::kPost, .path = "/" + command};
  TRY(kube::CheckStatus(transport.Send(request), request.method)
          .map_error(base::While("nodesim " + command)));
  return {};
}

Result<std::unique_ptr<Process>> Stage::StartReplica(std::size_t replica,
                                                     const Process::Environment& environment) {
  Process::Environment all = {
      {"KUBECONFIG", options_.kubeconfigs.at(replica)},
      {"POD_NAME", "bench-" + std::to_string(++started_)},
      {"NAMESPACE", kDriverNamespace},
      {"IMAGE_NAME", "cdom:bench"},
      {"LOG_VERBOSITY_CD_DAEMON", "0"},
      {"LEADER_ELECTION_ENABLED", "true"},
      {"LEADER_ELECTION_LEASE_LOCK_NAME", kLeaseName},
      {"LEADER_ELECTION_LEASE_LOCK_NAMESPACE", kDriverNamespace},
      {"GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"},  // As in the image and the service.
  };
  for (const auto& [name, value] : environment) all[name] = value;
  return Process::Start(options_.command, all, options_.log);
}

Result<std::unique_ptr<Process>> Stage::StartController(const Process::Environment& environment) {
  constexpr seconds kTakesOver{60};  // A predecessor that died holds the Lease for 15 s.
  std::unique_ptr<Process> process = TRY(StartReplica(0, environment));
  const std::string name = "probe-" + std::to_string(started_);
  const kube::ObjectKey key = {.ns = kNamespace, .name = name};
  TRY(Send(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(name))));
  const auto taken_in = [&]() -> Result<bool> {
    const Value domain = TRY(Get(api::kComputeDomains, key));
    return !domain["metadata"]["finalizers"].items().empty();
  };
  TRY(Await("the controller takes a domain in; its log is " + options_.log, kTakesOver, taken_in));
  TRY(Send(kube::DeleteRequest(api::kComputeDomains, key, "", kube::Propagation::kBackground)));
  TRY(AwaitGone(api::kComputeDomains, key, kTakesOver));
  return process;
}

Result<void> Stage::Stop(Process& process) {
  process.Signal(SIGTERM);
  return process.AwaitEnd(clock_, seconds(30));
}

Result<pid_t> Stage::PidOf(const std::string& program) const {
  std::ifstream file(options_.plane + "/pids/" + program);
  pid_t pid = 0;
  if (!(file >> pid)) return Fail(ErrorCode::kInvalid, "no process id of " + program);
  return pid;
}

Result<void> Stage::PauseClusterControllers() {
  for (const char* name : {"kube-controller-manager", "kube-scheduler"}) {
    kill(TRY(PidOf(name)), SIGSTOP);
  }
  return {};
}

Result<void> Stage::Await(const std::string& what, seconds most,
                          const std::function<Result<bool>()>& reached, milliseconds poll) {
  const auto deadline = clock_.Now() + most;
  while (true) {
    if (TRY(reached())) return {};
    if (clock_.Now() > deadline) {
      return Fail(ErrorCode::kDeadlineExceeded, "timed out waiting until " + what);
    }
    Pause(poll);
  }
}

Result<void> Stage::AwaitQuiet(const std::string& what, milliseconds quiet, seconds most,
                               const std::function<bool(const AuditEvent&)>& counts) {
  TRY(audit_.Read());
  std::size_t mark = audit_.Mark();
  auto since = clock_.Now();
  return Await(what, most, [&]() -> Result<bool> {
    TRY(audit_.Read());
    for (const AuditEvent& event : audit_.Since(mark)) {
      if (counts(event)) since = clock_.Now();
    }
    mark = audit_.Mark();
    return clock_.Now() - since >= quiet;
  });
}

Result<void> Stage::AwaitGone(const kube::Resource& resource, const kube::ObjectKey& key,
                              seconds most) {
  return Await(kube::ToString(key) + " is gone", most, [&]() -> Result<bool> {
    const Result<Value> object = Get(resource, key);
    if (!object && object.error().code != ErrorCode::kNotFound) {
      return tl::unexpected(object.error());
    }
    return !object.has_value();
  });
}

void Stage::Pause(milliseconds time) const {
  kube::WaitUntil(clock_, clock_.Now() + time, std::stop_token());
}

}  // namespace bench
