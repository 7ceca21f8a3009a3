#include "node/dra/preflight/finding.h"

#include <string_view>

#include "pkg/base/text.h"

namespace dra {

void AddContainers(const std::string& cdi_trouble, const std::string& runtime,
                   std::vector<Finding>& findings) {
  constexpr std::string_view kContainerd = "containerd://";
  if (!cdi_trouble.empty()) {
    findings.push_back(
        {.stops = true,
         .text = "CDI: " + cdi_trouble + ": mount the host's folder there, to be written"});
  }
  if (!runtime.starts_with(kContainerd)) return;
  const std::string version = runtime.substr(kContainerd.size());
  const std::string name = "containerd " + version;
  const std::vector<int> numbers = base::VersionIn(version);
  if (numbers.size() < 2 || numbers[0] > 1) return;
  if (numbers[1] < 7) {
    findings.push_back(
        {.stops = true,
         .text = "CDI: " + name + " ignores devices without an error: install 1.7 or later"});
  } else {
    findings.push_back(
        {.text = "CDI: " + name +
                 " has CDI off by default: if pods get no devices, set enable_cdi = true in its "
                 "configuration"});
  }
}

std::vector<Finding> Settled(std::vector<Finding> findings, bool has_prepared) {
  for (Finding& finding : findings) finding.stops = finding.stops && !has_prepared;
  return findings;
}

}  // namespace dra
