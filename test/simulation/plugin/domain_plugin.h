// One process of the kubelet plugin for domains.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/plugin/api/plugin_api.h"
#include "node/plugin/host/node_disk.h"
#include "node/plugin/loop/plugin_loop.h"
#include "test/simulation/driver/process.h"

namespace simulation {

class DomainDisk final : public ProcessDisk, public plugin::NodeDisk {
 public:
  using ProcessDisk::ProcessDisk;
  std::optional<std::string> ReadDriverSpec() const override { return content().driver_spec; }
  base::Result<void> WriteDriverSpec(const std::string& text) override {
    return Edit({.what = DiskEdit::What::kWriteDriverSpec, .text = text});
  }
  base::Result<std::vector<std::string>> Folders() const override {
    return std::vector<std::string>(content().folders.begin(), content().folders.end());
  }
  bool HasFolder(const std::string& domain) const override {
    return content().folders.contains(domain);
  }
  base::Result<void> MakeFolder(const std::string& domain) override {
    return Edit({.what = DiskEdit::What::kMakeFolder, .name = domain});
  }
  base::Result<void> RemoveFolder(const std::string& domain) override {
    return Edit({.what = DiskEdit::What::kRemoveFolder, .name = domain});
  }
};

// As plugin::HostReader has them.
struct DomainHost {
  std::function<std::string()> driver_mark = {};
  std::function<base::Result<plugin::DriverRead>()> read_driver = {};
};

class DomainPlugin final : public Plugin {
 public:
  DomainPlugin(ApiServer& server, DiskContent& disk, const PluginOptions& options,
               plugin::Rules rules, DomainHost host, Serve serve, EditDisk edit);
  ~DomainPlugin() override;

 private:
  class Host;

  const plugin::Settings settings_;
  DomainDisk disk_;
  const std::unique_ptr<Host> host_;
  std::unique_ptr<plugin::PluginApi> api_;
  std::unique_ptr<plugin::PluginLoop> loop_;
};

}  // namespace simulation
