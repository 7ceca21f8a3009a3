// The setup that every row uses.
//
// It has the control plane as its administrator, its audit log, and the measured controller. Used
// by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/curl_transport.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/config.h"
#include "test/bench/audit.h"
#include "test/bench/load.h"
#include "test/bench/process.h"

namespace bench {

// Maximum writes in flight, the same as the controller's limit.
inline constexpr int kInFlight = 16;

inline constexpr std::string_view kAdminUser = "cdom-admin";
inline constexpr std::string_view kNodesimUser = "cdom-nodesim";
inline constexpr std::string_view kControllerUser =
    "system:serviceaccount:cdom-system:cdom-controller";

struct StageOptions {
  std::string plane = {};    // The folder that `controlplane up` created.
  std::string command = {};  // Starts the controller with its environment variables.
  std::vector<std::string> kubeconfigs = {};  // For its replicas, each with its own token.
  std::string nodesim_url = {};               // Empty if there are no simulated nodes.
  std::string placement = {};                 // The folder of its policy and binding.
  std::string log = {};                       // File for the controllers' output.
};

// Returns whether it is a request of the controller that is not for leader election.
bool IsOurs(const AuditEvent& event);
// Returns whether it is a successful write of a domain's status by the controller.
bool IsStatusWrite(const AuditEvent& event);

class Stage {
 public:
  // `admin` and `clock` must outlive the stage.
  Stage(StageOptions options, kube::ClientConfig& admin, const base::Clock& clock);

  const base::Clock& clock() const { return clock_; }
  AuditLog& audit() { return audit_; }
  const StageOptions& options() const { return options_; }
  const std::string& url() const { return admin_.endpoint.url; }

  // ---- Requests of the administrator. A reply that is not 2xx is an Error.
  base::Result<json::Value> Send(const http::Request& request);
  base::Result<json::Value> Get(const kube::Resource& resource, const kube::ObjectKey& key);
  // Returns the items of the collection in all namespaces.
  base::Result<json::Value::Items> List(const kube::Resource& resource,
                                        const std::string& label_selector);
  Load NewLoad() const;
  std::unique_ptr<http::Transport> NewConnection() const;
  // Sends a command to the simulated nodes, such as "kill?node=node-001".
  base::Result<void> Nodesim(const std::string& command);

  // ---- The controller.
  base::Result<std::unique_ptr<Process>> StartReplica(std::size_t replica,
                                                      const Process::Environment& environment = {});
  // Starts the first replica. Returns once it has provisioned and deleted a test domain.
  base::Result<std::unique_ptr<Process>> StartController(
      const Process::Environment& environment = {});
  base::Result<void> Stop(Process& process);
  // Returns the PID of a program of the control plane.
  base::Result<pid_t> PidOf(const std::string& program) const;
  // Pauses kube-controller-manager and kube-scheduler: no node is marked as lost and no pod is
  // created. For rows with thousands of objects without processes.
  base::Result<void> PauseClusterControllers();

  // ---- Waiting.
  // Waits until `reached` returns true. Returns kDeadlineExceeded, with `what`, after `most`. An
  // Error of `reached` also ends the wait.
  base::Result<void> Await(const std::string& what, std::chrono::seconds most,
                           const std::function<base::Result<bool>()>& reached,
                           std::chrono::milliseconds poll = std::chrono::milliseconds(20));
  // Waits until no event that `counts` has come for `quiet`.
  base::Result<void> AwaitQuiet(const std::string& what, std::chrono::milliseconds quiet,
                                std::chrono::seconds most,
                                const std::function<bool(const AuditEvent&)>& counts);
  base::Result<void> AwaitGone(const kube::Resource& resource, const kube::ObjectKey& key,
                               std::chrono::seconds most);
  void Pause(std::chrono::milliseconds time) const;

 private:
  const StageOptions options_;
  kube::ClientConfig& admin_;
  const base::Clock& clock_;
  http::CurlTransport transport_;
  AuditLog audit_;
  int started_ = 0;
};

inline double Seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}
inline double Millis(std::chrono::microseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace bench
