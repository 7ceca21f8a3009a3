// The operations of a Simulator over HTTP, on 127.0.0.1 only.
//
// README.md lists them.
#pragma once

#include <functional>
#include <memory>

#include "pkg/base/result.h"
#include "test/cluster/nodesim/simulator.h"

namespace nodesim {

class ControlServer {
 public:
  // `simulator` must outlive the server. `on_quit` is called after /quit was handled.
  ControlServer(Simulator& simulator, std::function<void()> on_quit);
  ~ControlServer();  // Stops serving.
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Starts to serve, on separate threads. Returns the port; 0 chooses a free port.
  base::Result<int> Start(int port);

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace nodesim
