// The other instances of a plugin on the node. There are two during a rolling update.
#pragma once

#include <functional>

namespace dra {

struct Instances {
  // Returns whether another instance serves the kubelet now, or this instance is ending.
  std::function<bool()> is_superseded = [] { return false; };
  // Returns whether a younger instance serves, which the kubelet calls.
  std::function<bool()> has_younger = [] { return false; };
  // Returns whether an older instance still serves, and may have calls that wait.
  std::function<bool()> has_elder = [] { return false; };
};

}  // namespace dra
