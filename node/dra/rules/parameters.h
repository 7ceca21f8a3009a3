// The parameters of a configuration in a claim, as their author wrote them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace dra {

// Returns kInvalid, in the words of NVIDIA's plugins.
tl::unexpected<base::Error> RefuseParameters(const std::string& why);

// Returns their kind, one of `kinds`. Returns kInvalid, with a message for the user, if they are no
// object, or have another kind or apiVersion.
base::Result<std::string_view> KindOf(json::View parameters, std::string_view version,
                                      std::span<const std::string_view> kinds);

// Returns kInvalid, with a message for the user, if they have a field that is not `known`, or
// twice.
base::Result<void> CheckFields(json::View parameters, std::span<const std::string_view> known);

}  // namespace dra
