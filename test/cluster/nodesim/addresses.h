// Consecutive pod addresses from 10.0.0.0/8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/mutex.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

// Simulators with different node prefixes start at different addresses.
class PodAddresses final : public Addresses {
 public:
  explicit PodAddresses(std::string_view node_prefix);

  // A pod already has this address: later addresses are above it. Ignores addresses of other
  // simulators.
  void Skip(std::string_view ip);
  std::string Next() override;

 private:
  const std::uint32_t begin_;
  base::Guarded<std::uint32_t> next_{0};  // Number of the next address, from `begin_`.
};

}  // namespace nodesim
