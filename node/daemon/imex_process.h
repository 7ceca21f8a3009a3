// The IMEX process, with its output forwarded line by line.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "pkg/base/result.h"
#include "pkg/base/subprocess.h"

namespace imex_daemon {

class ImexProcess {
 public:
  // Forwards output to this process's own. `on_line` is called for each line, on a separate thread,
  // until the destructor returns.
  static base::Result<std::unique_ptr<ImexProcess>> Start(
      const base::Program& program, std::function<void(std::string_view line)> on_line);

  std::optional<base::ProgramEnd> Ended() const { return program_->Ended(); }
  void Signal(int signal) const { program_->Signal(signal); }

 private:
  ImexProcess(std::unique_ptr<base::LastingProgram> program,
              std::function<void(std::string_view line)> on_line);
  void PassOn(const std::stop_token& stop);

  const std::unique_ptr<base::LastingProgram> program_;
  const std::function<void(std::string_view line)> on_line_;
  std::jthread listener_;
};

}  // namespace imex_daemon
