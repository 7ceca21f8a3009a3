#pragma once

#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/client/kubeconfig.h"

namespace kube {

// What one context of `kubeconfig` says, with the files that it names. `label` is where the
// kubeconfig came from, for messages.
[[nodiscard]] base::Result<ClientConfig> ReadKubeconfig(const Kubeconfig& kubeconfig,
                                                        const std::string& label,
                                                        const ConfigSource& source,
                                                        const base::Clock& clock);

// kInvalid, saying what is wrong, unless `url` is "https://host..." or "http://host...", without a
// user, a query or a fragment.
[[nodiscard]] base::Result<void> CheckServerUrl(const std::string& url);

}  // namespace kube
