// The API server, as the deciding thread of a plugin uses it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "controller/api/types.h"
#include "node/plugin/api/domain_cache.h"
#include "node/plugin/rules/resource_slice.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace plugin {

class PluginApi {
 public:
  virtual ~PluginApi() = default;

  // State as of the watches. Null until the node is read.
  virtual const DomainCache& domains() const = 0;
  virtual std::shared_ptr<const api::Node> node() const = 0;
  // Empty until they are read.
  virtual std::optional<std::vector<kube::ObjectMeta>> slices() const = 0;
  // Returns the API version in which the server serves slices and claims.
  virtual SliceApi dra_version() const = 0;

  // Watches this clique instead of the earlier one. Returns false while that is forbidden.
  virtual bool WatchClique(const kube::ObjectKey& key) = 0;
  // Returns whether the node is Ready in that clique. Empty until it is read.
  virtual std::optional<bool> IsReadyIn(const kube::ObjectKey& key) const = 0;

  // Runs a task, in the order of its queue. A task may block for one request. Tasks that have not
  // started when this is destroyed are dropped.
  enum class Queue { kClaims, kReads, kNode, kSlices };
  using Task = std::function<void(http::Transport& transport)>;
  virtual void Enqueue(Queue queue, Task task) = 0;
  // Returns the number of tasks that have not ended.
  virtual int open() const = 0;
};

}  // namespace plugin
