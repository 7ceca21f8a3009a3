#include "node/plugin/rules/opaque_config.h"

#include <array>
#include <span>

#include "controller/api/names.h"
#include "node/dra/rules/parameters.h"
#include "pkg/json/utf8.h"

namespace plugin {

namespace {

using dra::Decoding, dra::kShownMax;

constexpr std::array<std::string_view, 2> kKinds = {api::kChannelConfigKind,
                                                    api::kDaemonConfigKind};
// Only a channel has the last one.
constexpr std::array<std::string_view, 4> kFields = {"apiVersion", "kind", "domainID",
                                                     "allocationMode"};

}  // namespace

bool IsUid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (kForm[i] == 'x' ? !is_hex : c != '-') return false;
  }
  return true;
}

base::Result<OpaqueConfig> DecodeConfig(json::View parameters, Decoding decoding) {
  const std::string_view kind =
      TRY(dra::KindOf(parameters, std::string(api::kGroup) + "/v1beta1", kKinds));
  const bool is_channel = kind == api::kChannelConfigKind;
  if (decoding == Decoding::kStrict) {
    TRY(dra::CheckFields(parameters, std::span(kFields).first(is_channel ? 4 : 3)));
  }
  OpaqueConfig config = {.type = is_channel ? DeviceType::kChannel : DeviceType::kDaemon,
                         .domain = std::string(parameters["domainID"].AsString())};
  if (!IsUid(config.domain)) {
    return dra::RefuseParameters("domainID \"" + json::OneLine(config.domain, kShownMax) +
                                 "\" is not the UID of a ComputeDomain");
  }
  const json::View mode = parameters["allocationMode"];
  if (!mode.IsNull() && mode.AsString().empty())
    return dra::RefuseParameters("allocationMode is not a string");
  config.all_channels = mode.AsString() == "All";
  return config;
}

}  // namespace plugin
