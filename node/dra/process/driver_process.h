// The process of a driver: it serves the kubelet and probes, and runs the driver's loop.
//
// Threads: the caller's thread decides, and alone writes files. gRPC's threads receive the
// kubelet's calls, and post them to the deciding thread's TaskQueue.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "node/dra/loop/driver_loop.h"
#include "node/dra/loop/instances.h"
#include "node/dra/loop/metrics.h"
#include "node/dra/settings/driver_settings.h"
#include "node/kubelet/service.h"
#include "pkg/base/result.h"
#include "pkg/command_line/frame.h"

namespace dra {

struct ServeOptions {
  kubelet::ServiceOptions service = {};
  std::string cdi_folder = {};
  std::string metrics_address = {};  // Of metrics, /livez and /readyz. Empty if there are none.
  std::string metrics_path = {};
  std::vector<std::string> ready_notes = {};  // For /readyz.
};

// `driver` is the driver's name, and `ready_notes` are as in ServeOptions.
ServeOptions OptionsOf(const DriverSettings& settings, std::string_view driver,
                       std::vector<std::string> ready_notes);

class DriverProcess {
 public:
  DriverProcess(command_line::Frame& frame, ServeOptions options);
  ~DriverProcess();
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  // The other instances, as the service sees them. For the loop.
  Instances instances();
  // A watch has news. Thread-safe.
  void NoteChange();
  // Serves probes and metrics. `metrics` must outlive the process.
  base::Result<void> StartServer(const Metrics& metrics);
  // Blocks until the stop is requested and shutdown is complete, or until the kubelet cannot be
  // served: then the error says why and what to do. `connect` gives the loop the newest connection
  // to the API server, and returns when to call it again.
  base::Result<void> Run(DriverLoop& loop, const std::function<TimePoint()>& connect,
                         const std::stop_token& stop);
  // Ends the service, which uses the loop.
  void Close();

 private:
  struct Parts;

  bool IsSuperseded() const;
  base::Result<void> Serve(DriverLoop& loop);
  TimePoint Turn(DriverLoop& loop);
  // Answers the calls that wait, while the next instance takes new ones. If told to retry, the
  // kubelet would do so only after a minute.
  void ServeOut(DriverLoop& loop);
  void Shutdown(DriverLoop& loop);

  const std::unique_ptr<Parts> parts_;
};

// Returns the ID of this boot, from a file.
base::Result<std::string> ReadBootId(const std::string& path);

}  // namespace dra
