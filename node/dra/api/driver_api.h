// The API server, as the deciding thread of a driver uses it: what is watched of the driver's
// slices, and queues of requests.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/dra/rules/resource_slice.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/base/task_queue.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/runtime/api_session.h"

namespace dra {

class DriverApi {
 public:
  enum class Queue { kClaims, kReads, kNode, kSlices };
  static constexpr std::size_t kQueues = 4;

  virtual ~DriverApi();
  DriverApi(const DriverApi&) = delete;
  DriverApi& operator=(const DriverApi&) = delete;

  // The node's slices of this driver, as of the watch. Empty until they are read.
  std::optional<std::vector<kube::ObjectMeta>> slices() const;
  // Returns the API version in which the server serves slices and claims.
  SliceApi dra_version() const { return dra_version_; }

  // Runs a task, in the order of its queue, and what it returns on the deciding thread. A task may
  // block for one request. Tasks that have not started when this is destroyed are dropped.
  using Completion = base::TaskQueue::Task;
  using Task = std::function<Completion(http::Transport& transport)>;
  void Enqueue(Queue queue, Task task);
  // Returns the number of tasks that have not ended.
  int open() const { return open_; }

 protected:
  // `session` has kQueues. `on_change` is called on the session's threads. `logger` and `tasks`
  // must outlive the object.
  DriverApi(std::unique_ptr<kube::ApiSession> session, std::string_view driver,
            const std::string& node, std::unique_ptr<base::Random> random, base::Logger& logger,
            base::TaskQueue& tasks, std::function<void()> on_change);

  // Watches the slices, and with them what the driver watches besides. The driver ends the watch
  // before it destroys its own reflectors.
  kube::ApiSession::WatchHandle Watch(std::vector<kube::Reflector*> reflectors);
  kube::ApiSession& session() { return *session_; }
  base::Random& random() { return *random_; }
  const std::function<void()>& on_change() const { return on_change_; }

 private:
  struct SliceMeta {
    kube::ObjectMeta meta = {};
  };
  static base::Result<SliceMeta> DecodeSliceMeta(json::View object);
  void OnTurn();

  base::TaskQueue& tasks_;
  const std::function<void()> on_change_;
  const std::unique_ptr<base::Random> random_;
  kube::Store<SliceMeta> slices_;
  kube::Reflector slice_reflector_;
  std::atomic<bool> slices_read_ = false;
  std::atomic<int> open_ = 0;
  std::atomic<SliceApi> dra_version_ = SliceApi::kV1;
  const std::unique_ptr<kube::ApiSession> session_;  // Last: it uses the other members.
};

}  // namespace dra
