#pragma once
#include "pkg/base/serial_executor.h"
namespace base {
class Worker : public SerialExecutor {
 public:
  void Do(Task task) { Post(std::move(task)); }
};
}  // namespace base
