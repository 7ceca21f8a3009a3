// Table of all settings of the controller.
//
// A setting is a flag with its variable, a field of the --config file, or both. The command line,
// the reader of the file, --help and both reference pages come from this table. To add a setting,
// add a row.
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
  const char* variable = "";  // Environment variable.
  const char* group = "";     // Group in --help.
  const char* help = "";      // With its default in parentheses.
  // Adds the flag to the command line, or several flags that other programs have, too.
  void (*add)(CLI::App&, const Setting&, Settings&) = nullptr;

  // The field in the file. Empty if only a flag has the setting.
  std::string_view path = {};  // "daemons.tolerations[].key" is a field of each item of a list.
  FieldType type = {};
  std::string_view fallback = {};  // The default, as in the reference page.
  std::string_view meaning = {};
  // Values, separated by '|'. Empty if any value of the type is allowed.
  std::string_view allowed = {};
  bool is_advanced = false;  // Few clusters need it: the page lists it apart.
  // Applies the value. Null if the field is part of a larger value: see Maps().
  void (*apply)(const json::Value&, Settings&) = nullptr;
};

// Returns all settings, in the order of --help and of the pages.
std::span<const Setting> Table();
// Adds all flags and commands.
void AddFlags(CLI::App& app, Settings& settings);

// Maps and lists that replace their default as a whole.
struct Map {
  std::string_view path = {};
  void (*apply)(const json::Value&, Settings&) = nullptr;
};
std::span<const Map> Maps();

inline constexpr std::string_view kHostManagedGate = "HostManagedIMEXDaemon";

}  // namespace settings
