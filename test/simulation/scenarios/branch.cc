#include "test/simulation/scenarios/branch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pkg/base/check.h"

namespace simulation {

namespace {

std::string ReadToEnd(int input) {
  std::string text;
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t count = read(input, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    CHECK(count >= 0);
    if (count == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

int WaitFor(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) CHECK(errno == EINTR);
  return status;
}

}  // namespace

Branch Branch::Begin() {
  std::array<int, 2> pipe_ends = {};
  CHECK(pipe(pipe_ends.data()) == 0);
  const auto [input, output] = pipe_ends;
  Branch branch;
  branch.process_ = fork();
  CHECK(branch.process_ >= 0);
  const bool is_here = branch.process_ == 0;
  close(is_here ? input : output);
  (is_here ? branch.output_ : branch.input_) = is_here ? output : input;
  return branch;
}

base::Result<std::string> Branch::Wait() const {
  std::string report = ReadToEnd(input_);
  close(input_);
  const int status = WaitFor(process_);
  if (WIFSIGNALED(status)) {
    return base::Fail(base::ErrorCode::kUnavailable,
                      std::string("the process died: ") + strsignal(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return base::Fail(base::ErrorCode::kUnavailable,
                      "the process ended with code " + std::to_string(WEXITSTATUS(status)));
  }
  return report;
}

void Branch::End(const std::string& report) const {
  for (std::size_t written = 0; written < report.size();) {
    const ssize_t count = write(output_, report.data() + written, report.size() - written);
    if (count < 0 && errno == EINTR) continue;
    CHECK(count >= 0);
    written += static_cast<std::size_t>(count);
  }
  _exit(0);  // Not exit(): what is buffered or registered belongs to the trunk.
}

}  // namespace simulation
