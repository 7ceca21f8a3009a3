#include "controller/compute_domain/status/explanation/advice.h"

#include <cstddef>
#include <iterator>

namespace compute_domain {

using Do = Advice::Do;

std::string_view ToString(Do what) {
  static constexpr std::string_view kNames[] = {
      "InstallPlugin",  "InstallGpuDriver", "DeleteClaims",   "AskForGpus",     "RunPods",
      "StartElsewhere", "WaitForNodes",     "WaitForDomains", "WaitForOwnPods", "WaitForDevices"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Do::kWaitForDevices) + 1);
  return kNames[static_cast<std::size_t>(what)];
}

json::Value Encode(const Advice& advice) {
  return json::Value::Object({{"do", ToString(advice.what)},
                              {"objects", json::Value::ArrayOf(advice.objects)},
                              {"number", advice.number}});
}

bool NeedsAPerson(const Advice& advice) {
  return advice.what == Do::kInstallPlugin || advice.what == Do::kInstallGpuDriver ||
         advice.what == Do::kDeleteClaims || advice.what == Do::kAskForGpus;
}

}  // namespace compute_domain
