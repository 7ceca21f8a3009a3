// What the kubelet asks of a plugin, as values: whichever version of the service it speaks.
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
  std::vector<Device> devices = {};  // Of a claim that was prepared.
  std::string error = {};            // Empty: it is done.
};
using Answers = std::map<std::string, Answer>;  // By UID, each claim that was asked for.
using Done = std::function<void(const Answers&)>;

// Of a device, as the pods that have it are told.
struct DeviceHealth {
  enum class Is { kUnknown, kHealthy, kUnhealthy } is = Is::kUnknown;
  std::string pool = {};
  std::string name = {};
  std::string message = {};
  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

// Who does it. Called on any thread, and does not block. Each `done` is called once, on any thread:
// also by who ends, for the kubelet's call lasts until then.
class Claims {
 public:
  virtual ~Claims() = default;

  // A stop of `cancelled` is requested when the kubelet no longer waits for the call; `done` is
  // still to be called.
  virtual void Prepare(const std::vector<ClaimName>& claims, std::stop_token cancelled,
                       Done done) = 0;
  virtual void Unprepare(const std::vector<ClaimName>& claims, std::stop_token cancelled,
                         Done done) = 0;
  // Whether the kubelet took the plugin; empty: it did.
  virtual void Registered(const std::string& error) = 0;
  // Of all devices; asked every second while a kubelet listens.
  [[nodiscard]] virtual std::vector<DeviceHealth> Health() = 0;
  // Asked by probes: why this process should be restarted. Empty if it should not.
  [[nodiscard]] virtual std::string Trouble() = 0;
};

}  // namespace kubelet
