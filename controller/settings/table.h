// Every setting of the controller, once: as a flag with its variable, as a field of the file of
// --config, or both. From this table come the command line, the reader of the file, --help and both
// reference pages. To add a setting, add a row.
#pragma once

#include <span>
#include <string_view>

#include "controller/settings/settings.h"
#include "pkg/command_line/flags.h"
#include "pkg/json/value.h"

namespace settings {

enum class FieldType { kText, kFlag, kInteger, kDuration, kTexts, kMap, kQuantities };

struct Setting {
  // The flag. Empty if only the file has the setting.
  const char* flag = "";      // "--workers".
  const char* variable = "";  // Of the environment.
  const char* group = "";     // Of --help.
  const char* help = "";      // With its default in parentheses.
  // Adds the flag, or a few that other programs have too, to the command line.
  void (*add)(CLI::App&, const Setting&, Settings&) = nullptr;

  // The field of the file. Empty if only a flag has the setting.
  std::string_view path = {};  // "daemons.tolerations[].key": of each item of a list.
  FieldType type = {};
  std::string_view fallback = {};  // The default, as the page has it.
  std::string_view meaning = {};
  std::string_view allowed = {};  // Values, separated by '|'. Empty: any of the type.
  bool is_advanced = false;       // Apart from the others on the page: few clusters need it.
  // Takes the value. Null if the field is part of a value that is taken as a whole: see Maps().
  void (*apply)(const json::Value&, Settings&) = nullptr;
};

// In the order of --help and of the pages.
[[nodiscard]] std::span<const Setting> Table();
// All flags, and the commands.
void AddFlags(CLI::App& app, Settings& settings);

// Maps and lists that replace their default as a whole.
struct Map {
  std::string_view path = {};
  void (*apply)(const json::Value&, Settings&) = nullptr;
};
[[nodiscard]] std::span<const Map> Maps();

inline constexpr std::string_view kHostManagedGate = "HostManagedIMEXDaemon";

}  // namespace settings
