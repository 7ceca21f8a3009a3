// The kubelet's requests as values, the same for each DRA version.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace kubelet {

struct ClaimName {
  std::string ns = {};
  std::string uid = {};
  std::string name = {};
  friend bool operator==(const ClaimName&, const ClaimName&) = default;
};

struct Device {
  std::vector<std::string> requests = {};
  std::string pool = {};
  std::string name = {};
  std::vector<std::string> cdi_ids = {};
  friend bool operator==(const Device&, const Device&) = default;
};

struct Answer {
  std::vector<Device> devices = {};  // Devices of a prepared claim.
  std::string error = {};            // Empty if it succeeded.
};
using Answers = std::map<std::string, Answer>;  // By UID of the claim. Has each claim of the call.
using Done = std::function<void(const Answers&)>;

// Health of a device, as published to the pods that have it.
struct DeviceHealth {
  enum class Is { kUnknown, kHealthy, kUnhealthy } is = Is::kUnknown;
  std::string pool = {};
  std::string name = {};
  std::string message = {};
  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

// Implemented by the plugin. Called on any thread; must not block. Each `done` must be called
// exactly once, on any thread, even during shutdown: the kubelet's call lasts until then.
class Claims {
 public:
  virtual ~Claims() = default;

  // A stop of `cancelled` is requested when the kubelet no longer waits for the call. `done` must
  // still be called.
  virtual void Prepare(const std::vector<ClaimName>& claims, std::stop_token cancelled,
                       Done done) = 0;
  virtual void Unprepare(const std::vector<ClaimName>& claims, std::stop_token cancelled,
                         Done done) = 0;
  // The kubelet has accepted or refused the plugin. `error` is empty if it accepted.
  virtual void Registered(const std::string& error) = 0;
  // Returns the health of all devices. Called every second while a kubelet listens.
  virtual std::vector<DeviceHealth> Health() = 0;
  // Returns why this process should be restarted. Empty if it should not. Called by probes.
  virtual std::string Trouble() = 0;
};

}  // namespace kubelet
