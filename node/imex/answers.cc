#include "node/imex/answers.h"

#include <algorithm>

#include "controller/api/names.h"
#include "node/imex/names.h"
#include "pkg/base/number.h"
#include "pkg/json/reader.h"
#include "pkg/json/repair.h"
#include "pkg/json/utf8.h"

namespace imex {

namespace {

constexpr std::size_t kWordMax = 32;

std::optional<int> ReadIndex(std::string_view digits) {
  const std::optional<int> index = base::ParseNumber<int>(digits);
  return index && *index >= 0 && *index < kNodesMax ? index : std::nullopt;
}

}  // namespace

bool SaysReady(std::string_view printed) { return printed == "READY\n"; }

std::string StateIn(std::string_view printed) {
  printed = printed.substr(0, printed.find_last_not_of(" \r\n") + 1);
  const auto is_in_a_word = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool is_word =
      !printed.empty() && printed.size() <= kWordMax && std::ranges::all_of(printed, is_in_a_word);
  return std::string(is_word ? printed : kUnknown);
}

base::Result<OwnView> ParseOwnView(std::string_view printed, int index) {
  const json::Document domain = TRY(json::ParseRepaired(printed));
  if (!domain["nodes"].IsObject()) return base::Invalid("there are no nodes in it");
  const json::View own = domain["nodes"][std::to_string(index)];
  if (!own.IsObject()) {
    return base::Fail(base::ErrorCode::kNotFound,
                      "node " + std::to_string(index) + " is not in it");
  }
  OwnView view = {.version = json::OneLine(own["version"].AsString(), kWordMax)};
  own["connections"].ForEachMember([&](std::string_view name, json::View connection) {
    const auto peer = ReadIndex(name);
    if (peer && connection["status"].AsString() == "CONNECTED") view.connected.insert(*peer);
  });
  view.connected.erase(index);
  return view;
}

std::optional<int> IndexInLine(std::string_view line) {
  constexpr std::string_view kPrefix = "Identified this node as ID ";
  const std::size_t at = line.find(kPrefix);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + kPrefix.size());
  return ReadIndex(line.substr(0, line.find_first_not_of("0123456789")));
}

bool SaysInUse(std::string_view line) {
  return line.find(api::kImexInUse) != std::string_view::npos;
}

}  // namespace imex
