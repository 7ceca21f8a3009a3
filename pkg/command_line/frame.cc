#include "pkg/command_line/frame.h"

#include <csignal>
#include <cstdio>
#include <utility>

#include "pkg/base/environment.h"
#include "pkg/base/version.h"
#include "pkg/command_line/thread_dump.h"
#include "pkg/logging/logger.h"

namespace command_line {

int Print(const Exit& exit) {
  std::fputs(exit.text.c_str(), exit.status == 0 ? stdout : stderr);
  return exit.status;
}

int StatusOf(const base::Result<void>& ended) {
  return ended ? 0 : Print({.text = ended.error().message + "\n", .status = kFailed});
}

Frame::Frame(const char* program, const CommonSettings& settings, std::chrono::seconds patience)
    : program_(program),
      settings_(settings),
      logger_(logging::MakeLogger({.format = *logging::ParseFormat(settings.log_format),
                                   .verbosity = settings.verbosity,
                                   .identifier = program},
                                  clock_)),
      environment_(base::Environment()),
      exec_(environment_, patience, clock_, *logger_) {
  std::signal(SIGCHLD, SIG_DFL);  // If it were ignored, exit statuses of programs would be lost.
}

void Frame::HandleSignals(std::vector<int> ends, std::vector<int> wakes, Repeated repeated,
                          std::string nvidias) {
  const auto wake = [this] { tasks_.Wake(); };
  const auto end = [this] {
    stop_.request_stop();
    tasks_.Wake();
  };
  PrepareThreadDump();
  signals_ =
      command_line::HandleSignals({.ends = std::move(ends),
                                   .end = end,
                                   .wakes = std::move(wakes),
                                   .wake = wake,
                                   .dump = [this, nvidias = std::move(nvidias)] { Dump(nvidias); },
                                   .repeated = repeated},
                                  *logger_);
}

void Frame::Dump(const std::string& nvidias) {
  std::string title = program_ + " " + std::string(base::Version());
  if (!nvidias.empty()) title += ", which is " + nvidias + " in NVIDIA's driver";
  DumpThreads(kThreadDump, title, *logger_);
}

base::Result<kube::ClientConfig> Frame::LoadConfig() {
  return kube::LoadConfig(
      {.kubeconfig = settings_.kubeconfig, .environment = base::GetEnv, .exec = &exec_}, clock_);
}

}  // namespace command_line
