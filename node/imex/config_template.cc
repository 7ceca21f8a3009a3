#include "node/imex/config_template.h"

#include <algorithm>
#include <optional>

#include "pkg/base/text.h"
#include "pkg/json/utf8.h"

namespace imex {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kQuotedMax = 60;

bool IsSpace(char c) { return kSpace.find(c) != std::string_view::npos; }

std::string_view TrimFront(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}
std::string_view TrimBack(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// The text between {{ and }}, and whether white space before and after it is removed.
struct Action {
  std::string_view text = {};
  bool trims_before = false;
  bool trims_after = false;
};

Action ReadAction(std::string_view inside) {
  Action action;
  // A dash counts only with white space beside it: "{{-3}}" is a number.
  if (inside.size() > 1 && inside[0] == '-' && IsSpace(inside[1])) {
    action.trims_before = true;
    inside.remove_prefix(1);
  }
  if (inside.size() > 1 && inside.back() == '-' && IsSpace(inside[inside.size() - 2])) {
    action.trims_after = true;
    inside.remove_suffix(1);
  }
  action.text = base::Trim(inside);
  return action;
}

std::optional<std::string_view> ValueOf(std::string_view text, const ConfigValues& values) {
  if (text == ".IMEXCmdBindInterfaceIP") return values.cmd_bind_ip;
  if (text == ".IMEXDaemonNodesConfigPath") return values.nodes_path;
  if (text.size() >= 4 && text.starts_with("/*") && text.ends_with("*/")) return "";
  return {};
}

tl::unexpected<base::Error> Wrong(std::string_view before, std::string_view what,
                                  const std::string& why) {
  const auto line = 1 + std::ranges::count(before, '\n');
  return base::Invalid("line " + std::to_string(line) + ": \"" + json::OneLine(what, kQuotedMax) +
                       "\" " + why);
}

}  // namespace

base::Result<std::string> RenderConfig(std::string_view text, const ConfigValues& values) {
  std::string rendered;
  std::size_t at = 0;
  bool trims = false;
  while (true) {
    const std::size_t open = std::min(text.find("{{", at), text.size());
    std::string_view plain = text.substr(at, open - at);
    if (trims) plain = TrimFront(plain);
    if (open == text.size()) return rendered.append(plain);

    const std::size_t close = text.find("}}", open + 2);
    if (close == std::string_view::npos) {
      return Wrong(text.substr(0, open), text.substr(open), "has no }} behind it");
    }
    const Action action = ReadAction(text.substr(open + 2, close - open - 2));
    const auto value = ValueOf(action.text, values);
    if (!value) {
      return Wrong(text.substr(0, open), text.substr(open, close + 2 - open),
                   "is not understood; what is: {{ .IMEXCmdBindInterfaceIP }} and "
                   "{{ .IMEXDaemonNodesConfigPath }}");
    }
    rendered.append(action.trims_before ? TrimBack(plain) : plain).append(*value);
    trims = action.trims_after;
    at = close + 2;
  }
}

std::string WithKeys(std::string_view text, ConfigKeys keys) {
  std::string written;
  while (!text.empty()) {
    const std::string_view line = base::TakePart(text, '\n');
    const std::string_view name = base::Trim(line.substr(0, line.find('=')));
    const auto key =
        std::ranges::find_if(keys, [&](const auto& wanted) { return wanted.first == name; });
    // A key without "=" is not a setting, so its line stays.
    if (key == keys.end() || line.find('=') == std::string_view::npos) {
      written.append(line).append("\n");
      continue;
    }
    written.append(key->first).append("=").append(key->second).append("\n");
    keys.erase(key);
  }
  for (const auto& [name, value] : keys) {
    written.append(name).append("=").append(value).append("\n");
  }
  return written;
}

}  // namespace imex
