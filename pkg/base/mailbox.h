#pragma once
#include "pkg/base/task_queue.h"
namespace base {
using Mailbox = TaskQueue;
}
