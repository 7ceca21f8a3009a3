#include "node/dra/rules/parameters.h"

#include <set>

#include "node/dra/rules/claim_status.h"
#include "pkg/base/find.h"
#include "pkg/json/utf8.h"

namespace dra {

namespace {

std::string Quoted(std::string_view text) { return "\"" + json::OneLine(text, kShownMax) + "\""; }

}  // namespace

tl::unexpected<base::Error> RefuseParameters(const std::string& why) {
  return base::Invalid("error decoding config parameters: " + why);
}

base::Result<std::string_view> KindOf(json::View parameters, std::string_view version,
                                      std::span<const std::string_view> kinds) {
  if (!parameters.IsObject()) return RefuseParameters("they are no object");
  // A value that is not text counts as empty, and is refused.
  const std::string_view kind = parameters["kind"].AsString();
  if (!base::Contains(kinds, kind)) {
    return RefuseParameters("no kind " + Quoted(kind) + " is registered");
  }
  const std::string_view theirs = parameters["apiVersion"].AsString();
  if (theirs == version) return kind;
  return RefuseParameters("no version " + Quoted(theirs) + " of kind " + std::string(kind) +
                          " is registered");
}

base::Result<void> CheckFields(json::View parameters, std::span<const std::string_view> known) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string_view name = parameters.name_at(i);
    const bool is_known = base::Contains(known, name);
    if (is_known && seen.insert(name).second) continue;
    return RefuseParameters(std::string("strict decoding error: ") +
                            (is_known ? "duplicate" : "unknown") + " field " + Quoted(name));
  }
  return {};
}

}  // namespace dra
