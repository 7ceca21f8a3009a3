#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/mutex.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

// Addresses of pods, from 10.0.0.0/8, one after the other. Simulators whose nodes have another
// prefix begin elsewhere.
class PodAddresses final : public Addresses {
 public:
  explicit PodAddresses(std::string_view node_prefix);

  // A pod has this one already: those that follow are above it. Others are none of ours.
  void Skip(std::string_view ip);
  [[nodiscard]] std::string Next() override;

 private:
  const std::uint32_t begin_;
  base::Guarded<std::uint32_t> next_{0};  // The number of the next one, from `begin_`.
};

}  // namespace nodesim
