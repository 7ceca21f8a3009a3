#include "test/simulation/apiserver/target.h"

#include <algorithm>

namespace simulation {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                           HexDigit(text[i + 2]) >= 0;
    if (is_escape) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return decoded;
}

// A slash that was escaped separates too: the server decodes before it splits.
std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> segments;
  std::string rest = Decode(path, false);
  if (rest.starts_with('/')) rest.erase(0, 1);
  std::size_t start = 0;
  for (std::size_t slash = rest.find('/'); slash != std::string::npos;
       slash = rest.find('/', start)) {
    segments.push_back(rest.substr(start, slash - start));
    start = slash + 1;
  }
  segments.push_back(rest.substr(start));
  return segments;
}

void ParseQuery(std::string_view text, Target& target) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view value = equals == item.size() ? "" : item.substr(equals + 1);
    target.query.emplace_back(Decode(item.substr(0, equals), true), Decode(value, true));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void FindResource(Target& target) {
  const std::vector<std::string>& all = target.segments;
  const bool core = all.front() == "api";
  if (!core && all.front() != "apis") return;
  const std::size_t group_size = core ? 2 : 3;  // "api", "v1" or "apis", group, version.
  if (all.size() <= group_size) return;
  const std::string group = core ? "" : all[1];
  const std::string& version = all[group_size - 1];
  std::vector<std::string> rest(all.begin() + static_cast<std::ptrdiff_t>(group_size), all.end());
  std::string ns;
  // "namespaces/a/pods" is about pods; "namespaces/a" is about the namespace itself.
  if (rest.size() >= 3 && rest[0] == "namespaces" && rest[2] != "status") {
    ns = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  const KindInfo* kind = FindKind(group, version, rest.front());
  if (kind == nullptr || rest.size() > 3) return;
  if (!kind->resource.namespaced && !ns.empty()) return;
  const std::string name = rest.size() > 1 ? rest[1] : "";
  if (kind->resource.namespaced && ns.empty() && !name.empty()) return;
  const bool has_empty = std::ranges::any_of(all, &std::string::empty);
  if (has_empty) return;
  target.kind = kind;
  target.key = {.ns = ns, .name = name};
  if (rest.size() > 2) target.subresource = rest[2];
}

std::string VerbOf(http::Method method, const Target& target) {
  const bool one = !target.key.name.empty();
  const std::string& watch = target.Query("watch");
  switch (method) {
    case http::Method::kGet:
      if (watch == "1" || watch == "true") return "watch";
      return one ? "get" : "list";
    case http::Method::kPost:
      return "create";
    case http::Method::kPut:
      return "update";
    case http::Method::kPatch:
      return "patch";
    case http::Method::kDelete:
      return one ? "delete" : "deletecollection";
  }
  return "";
}

}  // namespace

const std::string& Target::Query(std::string_view name) const {
  static const std::string none;
  const auto it = std::ranges::find_if(query, [&](const auto& item) { return item.first == name; });
  return it == query.end() ? none : it->second;
}

Target ParseTarget(http::Method method, std::string_view path_and_query) {
  Target target;
  const std::size_t mark = std::min(path_and_query.find('?'), path_and_query.size());
  target.segments = SplitPath(path_and_query.substr(0, mark));
  if (mark < path_and_query.size()) ParseQuery(path_and_query.substr(mark + 1), target);
  FindResource(target);
  target.verb = VerbOf(method, target);
  return target;
}

}  // namespace simulation
