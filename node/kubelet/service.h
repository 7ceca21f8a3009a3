// The servers that the kubelet finds: registration, the DRA service in both versions with the
// stream of devices' health, and the health check for probes. gRPC stays in service.cc.
//
// Bounds: 64 calls at once, of 256 claims each, 8 streams, and 1 MiB a message; what is more is
// refused. The health port has at most 64 connections, see CappedListener.
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
  std::string plugin_folder = {};  // Of this driver.
  // Of the pod that this runs in, where it is known: then the names of its sockets have it, and the
  // next pod serves before this one ends. Empty: it takes the place of the one before.
  std::string pod_uid = {};
  std::optional<int> health_port = {};  // On all addresses; 0: any.
};

class Service {
 public:
  // `claims` outlives the service. Errors name the path or the port, and what to do.
  [[nodiscard]] static base::Result<std::unique_ptr<Service>> Start(const ServiceOptions& options,
                                                                    Claims& claims);
  // Waits for all calls; what is asked from now on is refused. Somebody answers what was asked.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] std::string registration() const;
  [[nodiscard]] int health_port() const;  // 0: there is none.
  // Whether it can be reached and makes progress; and whether the kubelet has registered it as
  // well. From any thread.
  [[nodiscard]] bool IsWell() const;
  [[nodiscard]] bool IsRegistered() const;
  // Whether another instance of this driver serves the kubelet in place of this one. Asks the file
  // system.
  [[nodiscard]] bool IsSuperseded() const;
  // From now on what arrives is refused, so that what was asked before can be answered to its end.
  void Leave();
  // How many have not been answered. After Leave() there are no more.
  [[nodiscard]] int open_calls() const;

 private:
  struct State;
  explicit Service(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace kubelet
