// The API server, as the deciding thread of the GPU driver uses it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "node/dra/api/driver_api.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/task_queue.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"

namespace gpu {

// User agent in the API server's audit log.
inline constexpr std::string_view kProgram = "gpu-kubelet-plugin";

class GpuApi final : public dra::DriverApi {
 public:
  // As DriverApi().
  GpuApi(std::unique_ptr<kube::ApiSession> session, const std::string& node,
         std::unique_ptr<base::Random> random, base::Logger& logger, base::TaskQueue& tasks,
         std::function<void()> on_change);
  // Returns one over connections to the server of `config`, with threads of its own.
  static std::unique_ptr<GpuApi> Connect(kube::ClientConfig config, const std::string& node,
                                         const base::Clock& clock, base::Logger& logger,
                                         base::TaskQueue& tasks, std::function<void()> on_change);
  ~GpuApi() override;

  // Returns the UID of the node, which owns the slice. Empty until it is read.
  std::string node_uid() const;

 private:
  struct NodeMeta {
    kube::ObjectMeta meta = {};
  };
  static base::Result<NodeMeta> DecodeNode(json::View object);

  const std::string node_name_;
  kube::Store<NodeMeta> nodes_;
  kube::Reflector node_reflector_;
  kube::ApiSession::WatchHandle watch_;  // Last: it uses the other members.
};

}  // namespace gpu
