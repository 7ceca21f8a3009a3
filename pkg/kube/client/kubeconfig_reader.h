// Makes a client configuration from a kubeconfig.
#pragma once

#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/client/kubeconfig.h"

namespace kube {

// Reads one context of `kubeconfig`, and the files that it names. `label` names the kubeconfig in
// messages.
base::Result<ClientConfig> ReadKubeconfig(const Kubeconfig& kubeconfig, const std::string& label,
                                          const ConfigSource& source, const base::Clock& clock);

// Returns kInvalid, with the reason, unless `url` is "https://host..." or "http://host..." without
// user, query and fragment.
base::Result<void> CheckServerUrl(const std::string& url);

}  // namespace kube
