#include "pkg/kube/runtime/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "pkg/base/file.h"

namespace kube {
namespace {

using prometheus::MetricType;

std::optional<double> CpuSeconds() {
  timespec time = {};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::optional<double> ResidentBytes() {
  const base::Result<std::string> text = base::ReadFile("/proc/self/statm", 4096);
  if (!text) return std::nullopt;
  std::istringstream fields(*text);
  double pages = 0;
  double resident_pages = 0;
  if (!(fields >> pages >> resident_pages)) return std::nullopt;
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::optional<double> OpenFds() {
  std::error_code error;
  std::filesystem::directory_iterator it("/proc/self/fd", error);
  if (error) return std::nullopt;
  double count = -1;  // Leaves out the iterator's own.
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) ++count;
  return count;
}

std::optional<double> MaxFds() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

void Append(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help,
            MetricType type, std::optional<double> value) {
  if (!value) return;
  prometheus::ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
  families.push_back({.name = name, .help = help, .type = type, .metric = {metric}});
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  const double started = std::chrono::duration<double>(started_.time_since_epoch()).count();
  std::vector<prometheus::MetricFamily> families;
  Append(families, "process_cpu_seconds_total", "User and system CPU time", MetricType::Counter,
         CpuSeconds());
  Append(families, "process_resident_memory_bytes", "Resident memory", MetricType::Gauge,
         ResidentBytes());
  Append(families, "process_open_fds", "Open file descriptors", MetricType::Gauge, OpenFds());
  Append(families, "process_max_fds", "Limit of open file descriptors", MetricType::Gauge,
         MaxFds());
  Append(families, "process_start_time_seconds", "When the process started, in seconds since 1970",
         MetricType::Gauge, started);
  return families;
}

}  // namespace kube
