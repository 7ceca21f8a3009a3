// A driver's run, once its loop is made.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "node/dra/process/api_connection.h"
#include "node/dra/process/driver_process.h"
#include "pkg/base/result.h"
#include "pkg/base/serial_executor.h"
#include "pkg/command_line/frame.h"

namespace dra {

// Runs the loop with the newest connection to the API server, as DriverProcess::Run(), and ends
// everything that uses the loop. `Api` is a DriverApi that connects by
//   static std::unique_ptr<Api> Connect(kube::ClientConfig, const std::string& node,
//                                       const base::Clock&, base::Logger&, base::TaskQueue&,
//                                       std::function<void()> on_change);
// and `Loop` a DriverLoop that takes it by Connect(Api*). `reader` reads the host for the loop.
template <typename Api, typename Loop>
base::Result<void> RunDriver(const std::string& node, command_line::Frame& frame,
                             DriverProcess& process, Loop& loop,
                             std::unique_ptr<base::SerialExecutor> reader) {
  ApiConnection<Api> connection(
      frame.clock(), frame.logger(), [&frame] { return frame.LoadConfig(); },
      [&](kube::ClientConfig config) {
        return Api::Connect(std::move(config), node, frame.clock(), frame.logger(), frame.tasks(),
                            [&process] { process.NoteChange(); });
      });
  const auto connect = [&] {
    connection.Turn();
    loop.Connect(connection.api());
    return connection.next();
  };
  auto done = process.Run(loop, connect, frame.stop());
  loop.Connect(nullptr);
  connection.Close();  // Its threads use the loop.
  reader.reset();
  process.Close();
  return done;
}

}  // namespace dra
