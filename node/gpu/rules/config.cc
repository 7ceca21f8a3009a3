#include "node/gpu/rules/config.h"

#include <array>
#include <string>
#include <string_view>

#include "node/dra/rules/parameters.h"
#include "pkg/json/utf8.h"

namespace gpu {

namespace {

constexpr std::string_view kVersion = "resource.nvidia.com/v1beta1";
constexpr std::string_view kGpuKind = "GpuConfig";
constexpr std::string_view kMigKind = "MigDeviceConfig";
constexpr std::string_view kVfioKind = "VfioDeviceConfig";
constexpr std::array<std::string_view, 3> kKinds = {kGpuKind, kMigKind, kVfioKind};
constexpr std::array<std::string_view, 3> kFields = {"apiVersion", "kind", "sharing"};

}  // namespace

base::Result<ConfigOf> DecodeConfig(json::View parameters, dra::Decoding decoding) {
  const std::string_view kind = TRY(dra::KindOf(parameters, kVersion, kKinds));
  if (kind == kVfioKind) {
    return base::Invalid("VfioDeviceConfig: this driver passes no GPU through to virtual machines");
  }
  const ConfigOf of = kind == kGpuKind ? ConfigOf::kGpu : ConfigOf::kMig;
  // To unprepare, nothing of it matters.
  if (decoding == dra::Decoding::kLenient) return of;
  TRY(dra::CheckFields(parameters, kFields));
  const json::View sharing = parameters["sharing"];
  if (sharing.IsNull()) return of;
  const std::string_view strategy = sharing["strategy"].AsString();
  return base::Invalid(
      std::string(kind) + ": sharing" +
      (strategy.empty() ? "" : ".strategy " + json::OneLine(strategy, dra::kShownMax)) +
      " is not supported: remove the field `sharing`. Containers that name one request of a "
      "claim, and pods that name one claim, share its GPUs without it");
}

}  // namespace gpu
