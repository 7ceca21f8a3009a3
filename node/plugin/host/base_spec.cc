#include "node/plugin/host/base_spec.h"

#include "node/plugin/rules/cdi_names.h"

namespace plugin {

driver::DriverFiles FindDaemonFiles(driver::FileSearch search) {
  search.programs = {"nvidia-imex", "nvidia-imex-ctl"};
  return driver::FindDriverFiles(search);
}

cdi::Spec BaseSpec(const driver::DriverFiles& files, const driver::EditsOptions& options) {
  // A runtime refuses a device without any edits of its own.
  return {.kind = std::string(kBaseKind),
          .devices = {{.name = "all",
                       .edits = {.env = {"NVIDIA_VISIBLE_DEVICES=void"}, .nodes = files.devices}}},
          .edits = driver::EditsOf(files, options)};
}

}  // namespace plugin
