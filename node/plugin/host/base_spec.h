// The CDI spec "device=all": NVIDIA's driver files for daemons' containers.
//
// It includes nvidia-imex and nvidia-imex-ctl. No other container gets it.
#pragma once

#include "node/cdi/spec.h"
#include "node/driver/files.h"

namespace plugin {

// Finds the driver's files for daemons, see driver::FindDriverFiles().
driver::DriverFiles FindDaemonFiles(driver::FileSearch search);

// Returns the spec. Pure.
cdi::Spec BaseSpec(const driver::DriverFiles& files, const driver::EditsOptions& options);

}  // namespace plugin
