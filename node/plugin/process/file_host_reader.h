// Reads the host through its files and NVIDIA's libraries.
#pragma once

#include <string>

#include "node/plugin/host/host_reader.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace plugin {

class FileHostReader final : public HostReader {
 public:
  // The arguments outlive it. The thread that reads may have capabilities that the driver needs for
  // its first read. After a complete read it drops all, unless the settings keep them.
  FileHostReader(const Settings& settings, const base::Clock& clock, base::Logger& logger,
                 std::string own_hook = "/usr/bin/nvidia-cdi-hook")
      : settings_(settings), clock_(clock), logger_(logger), own_hook_(std::move(own_hook)) {}

  std::string DriverMark() const override;
  base::Result<std::string> InstallHook() override;
  bool HasHook(const std::string& path) const override;
  base::Result<DriverRead> Read(const std::string& hook) override;
  bool IsImexReady(const std::stop_token& stop) override;

 private:
  HostPaths Paths() const;

  const Settings& settings_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const std::string own_hook_;  // Of the image.
};

}  // namespace plugin
