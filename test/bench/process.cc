#include "test/bench/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stop_token>
#include <vector>

#include "pkg/base/environment.h"
#include "pkg/kube/runtime/wait.h"

namespace bench {

namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

std::vector<std::string> Merge(const Process::Environment& environment) {
  std::vector<std::string> merged;
  for (const std::string& text : base::Environment()) {
    if (!environment.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : environment) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string ProcFile(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

Result<std::int64_t> KibOf(pid_t pid, std::string_view field) {
  std::ifstream file(ProcFile(pid, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size()));
  }
  return Fail(ErrorCode::kNotFound, "no such process");
}

}  // namespace

Result<std::chrono::milliseconds> CpuTime(pid_t pid) {
  std::ifstream file(ProcFile(pid, "stat"));
  std::string line;
  if (!std::getline(file, line)) return Fail(ErrorCode::kNotFound, "no such process");
  // The name, in brackets, may hold anything. utime and stime are the 12th and 13th behind it.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  std::int64_t user = 0;
  std::int64_t system = 0;
  fields >> user >> system;
  return std::chrono::milliseconds((user + system) * 1000 / sysconf(_SC_CLK_TCK));
}

Result<std::int64_t> PeakResidentKib(pid_t pid) { return KibOf(pid, "VmHWM:"); }
Result<std::int64_t> ResidentKib(pid_t pid) { return KibOf(pid, "VmRSS:"); }

Result<std::unique_ptr<Process>> Process::Start(const std::string& command,
                                                const Environment& environment,
                                                const std::string& log) {
  std::vector<std::string> arguments = {"sh", "-c", "exec " + command};
  std::vector<std::string> variables = Merge(environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/bin/sh", &files, nullptr, Pointers(arguments).data(),
                                Pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Fail(ErrorCode::kUnavailable, command + ": " + std::strerror(error));
  return std::unique_ptr<Process>(new Process(pid));
}

Process::~Process() {
  if (ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) const {
  if (!ended_) kill(pid_, signal);
}

Result<void> Process::AwaitEnd(const base::Clock& clock, std::chrono::seconds most) {
  constexpr std::chrono::milliseconds kTurn{20};
  const auto deadline = clock.Now() + most;
  while (!ended_) {
    ended_ = waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (ended_) break;
    if (clock.Now() > deadline) {
      return Fail(ErrorCode::kDeadlineExceeded, "the process does not end");
    }
    kube::WaitUntil(clock, clock.Now() + kTurn, std::stop_token());
  }
  return {};
}

}  // namespace bench
