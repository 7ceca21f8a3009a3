// The gRPC servers that the kubelet and its probes call.
//
// They are: registration, the DRA service in both versions, the stream of device health, and the
// health check. gRPC is used in service.cc only.
//
// Linux bounds the path of a socket to 107 characters. The names of NVIDIA's plugin, with the UID
// of the pod, fit under the kubelet's default folders. Under longer ones (k0s, microk8s) one socket
// with a short name in the registry folder serves everything. The kubelet's root folder may then
// have 80 characters.
//
// Bounds: a CallRoom for unprepares, one for claims of daemons, and one for other prepares, with
// 256 claims a call; 8 streams; 1 MiB a message. The rest is refused. The health port has at most
// 64 connections, see CappedListener.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "node/kubelet/claims.h"
#include "pkg/base/result.h"

namespace kubelet {

struct ServiceOptions {
  std::string driver = {};
  std::string registry_folder = {};
  std::string plugin_folder = {};     // The folder of this driver.
  std::string daemon_namespace = {};  // Claims of daemons are in this namespace.
  // UID of this process's pod. It is part of the names of the sockets, so that the next pod can
  // serve before this one ends. If empty, the sockets replace those of the earlier process.
  std::string pod_uid = {};
  std::optional<int> health_port =
      {};  // On all addresses. 0 means any port. Empty if there is none.
};

class Service {
 public:
  // `claims` must outlive the service. Errors name the path or the port, and what to do.
  static base::Result<std::unique_ptr<Service>> Start(const ServiceOptions& options,
                                                      Claims& claims);
  // Refuses new calls and waits for the open ones. `claims` must still answer them.
  virtual ~Service() = default;

  virtual std::string endpoint() const = 0;
  virtual std::string registration() const = 0;
  virtual int health_port() const = 0;  // 0 if there is none.
  // IsWell() returns whether it can be reached and makes progress. IsRegistered() returns whether
  // the kubelet has also registered it. Thread-safe.
  virtual bool IsWell() const = 0;
  virtual bool IsRegistered() const = 0;
  // Returns whether another instance of this driver serves the kubelet instead of this one. Reads
  // the file system.
  virtual bool IsSuperseded() const = 0;
  // Returns whether a younger instance of this driver serves, or one at this one's path. Reads the
  // file system.
  virtual bool HasYounger() const = 0;
  // Returns whether an older instance of this driver still serves, and may answer calls. Reads the
  // file system.
  virtual bool HasElder() const = 0;
  // Refuses new calls from now on, so that the open calls can be answered.
  virtual void Leave() = 0;
  // Returns the number of open calls. It does not grow after Leave().
  virtual int open_calls() const = 0;
};

}  // namespace kubelet
