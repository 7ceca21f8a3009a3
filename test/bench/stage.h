// What every row works with: the control plane as its administrator, its audit log, and the
// controller that is measured.
//
// Used by one thread.
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

// Writes in flight when something is written as fast as the server takes it: as many as the
// controller allows itself.
inline constexpr int kInFlight = 16;

inline constexpr std::string_view kAdminUser = "cdom-admin";
inline constexpr std::string_view kNodesimUser = "cdom-nodesim";
inline constexpr std::string_view kControllerUser =
    "system:serviceaccount:cdom-system:cdom-controller";

struct StageOptions {
  std::string plane = {};    // The folder that `controlplane up` made.
  std::string command = {};  // Runs the controller; its settings come as environment variables.
  std::vector<std::string> kubeconfigs = {};  // Of its replicas, each with a token of its own.
  std::string nodesim_url = {};               // Empty: no nodes are played.
  std::string placement = {};                 // The folder of its policy and binding.
  std::string log = {};                       // Where the controllers' output is appended.
};

// A request of the controller that is not about who leads.
[[nodiscard]] bool IsOurs(const AuditEvent& event);
// A write that succeeded of a domain's status, by the controller.
[[nodiscard]] bool IsStatusWrite(const AuditEvent& event);

class Stage {
 public:
  // `admin` and `clock` outlive the stage.
  Stage(StageOptions options, kube::ClientConfig& admin, const base::Clock& clock);

  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] AuditLog& audit() { return audit_; }
  [[nodiscard]] const StageOptions& options() const { return options_; }
  [[nodiscard]] const std::string& url() const { return admin_.endpoint.url; }

  // ---- As the administrator. A reply that is not 2xx is an Error.
  [[nodiscard]] base::Result<json::Value> Send(const http::Request& request);
  [[nodiscard]] base::Result<json::Value> Get(const kube::Resource& resource,
                                              const kube::ObjectKey& key);
  // The items of the collection in all namespaces.
  [[nodiscard]] base::Result<json::Value::Items> List(const kube::Resource& resource,
                                                      const std::string& label_selector);
  [[nodiscard]] Load NewLoad() const;
  [[nodiscard]] std::unique_ptr<http::Transport> NewConnection() const;
  // A command to the simulated nodes, such as "kill?node=node-001".
  [[nodiscard]] base::Result<void> Nodesim(const std::string& command);

  // ---- The controller.
  [[nodiscard]] base::Result<std::unique_ptr<Process>> StartReplica(
      std::size_t replica, const Process::Environment& environment = {});
  // Starts the first replica and returns once it has taken a domain in and let it go.
  [[nodiscard]] base::Result<std::unique_ptr<Process>> StartController(
      const Process::Environment& environment = {});
  [[nodiscard]] base::Result<void> Stop(Process& process);
  // Of a program of the control plane.
  [[nodiscard]] base::Result<pid_t> PidOf(const std::string& program) const;
  // The component that acts on what is created from now on: no nodes are lost and no pods made. For
  // rows about thousands of objects that nobody is behind.
  [[nodiscard]] base::Result<void> PauseClusterControllers();

  // ---- Waiting.
  // Until `reached` says true. kDeadlineExceeded, saying what was waited for, after `most`; an
  // Error of `reached` ends it, too.
  [[nodiscard]] base::Result<void> Await(
      const std::string& what, std::chrono::seconds most,
      const std::function<base::Result<bool>()>& reached,
      std::chrono::milliseconds poll = std::chrono::milliseconds(20));
  // Until no event that `counts` came for `quiet`.
  [[nodiscard]] base::Result<void> AwaitQuiet(const std::string& what,
                                              std::chrono::milliseconds quiet,
                                              std::chrono::seconds most,
                                              const std::function<bool(const AuditEvent&)>& counts);
  [[nodiscard]] base::Result<void> AwaitGone(const kube::Resource& resource,
                                             const kube::ObjectKey& key, std::chrono::seconds most);
  void Pause(std::chrono::milliseconds time) const;

 private:
  const StageOptions options_;
  kube::ClientConfig& admin_;
  const base::Clock& clock_;
  http::CurlTransport transport_;
  AuditLog audit_;
  int started_ = 0;
};

[[nodiscard]] inline double Seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}
[[nodiscard]] inline double Millis(std::chrono::microseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace bench
