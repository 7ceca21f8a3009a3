#include "node/daemon/imex_process.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "pkg/base/text.h"

namespace imex_daemon {

namespace {

constexpr std::chrono::milliseconds kTurn{500};
constexpr std::size_t kLineMax = 16U << 10;  // Longer lines are passed on in parts.

// Writes the text unchanged, because it is IMEX's log. Text that cannot be written is lost, as it
// would be for IMEX itself.
void WriteToStderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

base::Result<std::unique_ptr<ImexProcess>> ImexProcess::Start(
    const base::Program& program, std::function<void(std::string_view line)> on_line) {
  auto started = TRY(base::LastingProgram::Start(program));
  return std::unique_ptr<ImexProcess>(new ImexProcess(std::move(started), std::move(on_line)));
}

ImexProcess::ImexProcess(std::unique_ptr<base::LastingProgram> program,
                         std::function<void(std::string_view line)> on_line)
    : program_(std::move(program)), on_line_(std::move(on_line)) {
  listener_ = std::jthread([this](const std::stop_token& stop) { PassOn(stop); });
}

void ImexProcess::PassOn(const std::stop_token& stop) {
  std::string output;
  bool goes_on = true;
  while (goes_on) {
    goes_on = program_->Listen(kTurn, output) && !stop.stop_requested();
    const bool is_all = !goes_on || output.size() > kLineMax;
    const std::size_t end = is_all ? output.size() : output.rfind('\n') + 1;
    const std::string lines = output.substr(0, end);
    output.erase(0, end);
    WriteToStderr(lines);
    for (std::string_view rest = lines; !rest.empty();) on_line_(base::TakePart(rest, '\n'));
  }
}

}  // namespace imex_daemon
