// A host whose reads a test decides.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "node/gpu/host/gpu_reader.h"
#include "node/gpu/rules/testing/node_and_claims.h"
#include "pkg/base/serial_executor.h"

namespace gpu {

struct FakeReader final : GpuReader {
  std::string mark = "one driver";
  base::Result<GpuNode> node = NodeA();
  int reads = 0;

  std::string DriverMark() const override { return mark; }
  base::Result<GpuRead> Read() override {
    ++reads;
    if (!node) return tl::unexpected(node.error());
    return GpuRead{.mark = mark, .node = *node};
  }
};

// Runs tasks when the test says so.
class FakeExecutor final : public base::Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void RunAll() {
    for (; !tasks_.empty(); tasks_.pop_front()) tasks_.front()({});
  }

 private:
  std::deque<Task> tasks_;
};

}  // namespace gpu
