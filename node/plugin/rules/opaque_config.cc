#include "node/plugin/rules/opaque_config.h"

#include <array>
#include <set>
#include <span>

#include "controller/api/names.h"
#include "pkg/base/find.h"
#include "pkg/json/utf8.h"

namespace plugin {

namespace {

using dra::Decoding, dra::kShownMax;

// Only a channel has the last one.
constexpr std::array<std::string_view, 4> kFields = {"apiVersion", "kind", "domainID",
                                                     "allocationMode"};

tl::unexpected<base::Error> Refuse(const std::string& why) {
  return base::Invalid("error decoding config parameters: " + why);
}

tl::unexpected<base::Error> RefuseStrictly(const char* what, std::string_view field) {
  return Refuse(std::string("strict decoding error: ") + what + " field \"" +
                json::OneLine(field, kShownMax) + "\"");
}

base::Result<void> CheckFields(json::View parameters, std::span<const std::string_view> known) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string_view name = parameters.name_at(i);
    if (!base::Contains(known, name)) return RefuseStrictly("unknown", name);
    if (!seen.insert(name).second) return RefuseStrictly("duplicate", name);
  }
  return {};
}

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
  if (!parameters.IsObject()) return Refuse("they are no object");
  // A value that is not text counts as empty, and is refused.
  const std::string_view version = parameters["apiVersion"].AsString();
  const std::string_view kind = parameters["kind"].AsString();
  const bool is_channel = kind == api::kChannelConfigKind;
  if (!is_channel && kind != api::kDaemonConfigKind) {
    return Refuse("no kind \"" + json::OneLine(kind, kShownMax) + "\" is registered");
  }
  if (version != std::string(api::kGroup) + "/v1beta1") {
    return Refuse("no version \"" + json::OneLine(version, kShownMax) + "\" of kind " +
                  std::string(kind) + " is registered");
  }
  if (decoding == Decoding::kStrict) {
    TRY(CheckFields(parameters, std::span(kFields).first(is_channel ? 4 : 3)));
  }
  OpaqueConfig config = {.type = is_channel ? DeviceType::kChannel : DeviceType::kDaemon,
                         .domain = std::string(parameters["domainID"].AsString())};
  if (!IsUid(config.domain)) {
    return Refuse("domainID \"" + json::OneLine(config.domain, kShownMax) +
                  "\" is not the UID of a ComputeDomain");
  }
  const json::View mode = parameters["allocationMode"];
  if (!mode.IsNull() && mode.AsString().empty()) return Refuse("allocationMode is not a string");
  config.all_channels = mode.AsString() == "All";
  return config;
}

}  // namespace plugin
