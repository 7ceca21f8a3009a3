#include "pkg/kube/client/exec_plugin.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "pkg/base/number.h"
#include "pkg/base/rfc3339.h"
#include "pkg/base/subprocess.h"
#include "pkg/json/utf8.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/token_file.h"
#include "pkg/tls/pem.h"

namespace kube {
namespace {

using base::ErrorCode, base::Invalid, base::Result;
using json::Value;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "client.authentication.k8s.io/v1beta1";
constexpr std::string_view kConfigExtension = "client.authentication.k8s.io/exec";
constexpr std::string_view kInfoVariable = "KUBERNETES_EXEC_INFO";
constexpr base::ProgramLimits kLimits;
constexpr std::size_t kWordsMax = 500;  // Of a plugin's text, in a message.
constexpr std::string_view kSeeMore = "; run it by hand to see more";

// ---- Reading the plugin in a kubeconfig.

Result<std::string> TextOf(const Value& value, const std::string& where) {
  if (!value.IsNull() && !value.IsString()) {
    return Invalid(where + ": not a text; write it in quotes");
  }
  if (value.AsString().find('\0') != std::string::npos) {
    return Invalid(where + ": has a NUL byte, which no program can be given");
  }
  return value.AsString();
}

Result<std::string> ApiVersionOf(const Value& exec, const std::string& where) {
  std::string version = TRY(TextOf(exec["apiVersion"], where + ".apiVersion"));
  if (version == kV1 || version == kV1Beta1) return version;
  return Invalid(where + ".apiVersion: " +
                 (version.empty() ? "missing" : "\"" + version + "\" is not supported") +
                 "; write " + std::string(kV1) + " or " + std::string(kV1Beta1) +
                 ", whichever the plugin prints");
}

// As in kubectl, a command with '/' is relative to the kubeconfig's folder.
Result<std::string> CommandOf(const Value& exec, const std::string& where,
                              const std::string& folder) {
  std::string command = TRY(TextOf(exec["command"], where + ".command"));
  if (command.empty()) return Invalid(where + ".command: missing; write the plugin's name or path");
  if (command.find('/') == std::string::npos) return command;
  return (std::filesystem::path(folder) / command).string();
}

// No user is at a terminal, and stdin is /dev/null.
Result<void> CheckInteractiveMode(const Value& exec, const ExecPlugin& plugin) {
  const std::string where = plugin.where + ".interactiveMode";
  const std::string mode = TRY(TextOf(exec["interactiveMode"], where));
  if (mode == "Never" || mode == "IfAvailable") return {};
  if (mode.empty() && plugin.api_version == kV1Beta1) return {};
  if (mode == "Always") {
    return Invalid(where +
                   ": Always wants somebody at a terminal, and here is nobody; write IfAvailable"
                   " if the plugin can do without, or use a plugin that can");
  }
  return Invalid(where + ": " + (mode.empty() ? "missing" : "\"" + mode + "\" is not known") +
                 "; write Never or IfAvailable");
}

Result<std::vector<std::string>> ArgumentsOf(const Value& exec, const std::string& where) {
  const Value& list = exec["args"];
  if (!list.IsNull() && !list.IsArray()) return Invalid(where + ".args: not a list");
  std::vector<std::string> arguments;
  arguments.reserve(list.items().size());
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    arguments.push_back(TRY(TextOf(list.items()[i], where + ".args[" + std::to_string(i) + "]")));
  }
  return arguments;
}

Result<std::vector<std::pair<std::string, std::string>>> VariablesOf(const Value& exec,
                                                                     const std::string& where) {
  const Value& list = exec["env"];
  if (!list.IsNull() && !list.IsArray()) return Invalid(where + ".env: not a list");
  std::vector<std::pair<std::string, std::string>> variables;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const Value& item = list.items()[i];
    const std::string here = where + ".env[" + std::to_string(i) + "]";
    std::string name = TRY(TextOf(item["name"], here + ".name"));
    if (name.empty()) return Invalid(here + ".name: missing");
    if (name.find('=') != std::string::npos) {
      return Invalid(here + ".name: has a '=', which ends a name");
    }
    variables.emplace_back(std::move(name), TRY(TextOf(item["value"], here + ".value")));
  }
  return variables;
}

// Returns spec.cluster for the plugin: the cluster as the kubeconfig has it.
Value ClusterOf(const Kubeconfig::Entry& cluster, const http::Endpoint& endpoint) {
  Value info = Value::Object({{"server", endpoint.url}});
  if (!endpoint.tls_server_name.empty()) info["tls-server-name"] = endpoint.tls_server_name;
  if (endpoint.insecure) info["insecure-skip-tls-verify"] = true;
  if (!endpoint.ca_pem.empty()) {
    info["certificate-authority-data"] = tls::EncodeBase64(endpoint.ca_pem);
  }
  if (const std::string proxy = cluster.Text("proxy-url"); !proxy.empty()) {
    info["proxy-url"] = proxy;
  }
  const Value extensions = cluster.Structure("extensions");
  for (const Value& extension : extensions.items()) {
    if (extension["name"].AsString() == kConfigExtension) info["config"] = extension["extension"];
  }
  return info;
}

// ---- Reading what a plugin prints.

tl::unexpected<base::Error> Printed(const std::string& what) { return Invalid("printed " + what); }

// Reads RFC 3339 with any zone. base::ParseTime() reads only UTC.
std::optional<base::Clock::WallTime> TimeOf(const std::string& text) {
  constexpr std::size_t kZone = std::string_view("+hh:mm").size();
  if (text.size() <= kZone || text.ends_with('Z')) return base::ParseTime(text);
  const std::string zone = text.substr(text.size() - kZone);
  const auto local = base::ParseTime(text.substr(0, text.size() - kZone) + "Z");
  const auto number = [&](std::size_t at) {
    return base::ParseNumber<int>(std::string_view(zone).substr(at, 2)).value_or(-1);
  };
  const int hour = number(1);
  const int minute = number(4);
  const bool is_zone = (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' && hour >= 0 &&
                       hour <= 23 && minute >= 0 && minute <= 59;
  if (!local || !is_zone) return {};
  const auto offset = std::chrono::hours(hour) + std::chrono::minutes(minute);
  return zone[0] == '+' ? *local - offset : *local + offset;
}

Result<void> CheckKind(const Value& printed, const std::string& api_version) {
  const std::string& version = printed["apiVersion"].AsString();
  if (printed["kind"].AsString() != "ExecCredential")
    return Printed("JSON that is no ExecCredential");
  if (version == api_version) return {};
  const bool is_known = version == kV1 || version == kV1Beta1;
  return Printed("an ExecCredential of " + (is_known ? version : "another apiVersion") +
                 ", not of " + api_version + " as exec.apiVersion says; write the plugin's there");
}

Result<void> ReadCertificate(const Value& status, ExecCredential& credential) {
  const std::string& certificate = status["clientCertificateData"].AsString();
  const std::string& key = status["clientKeyData"].AsString();
  if (certificate.empty() && key.empty()) return {};
  if (certificate.empty() || key.empty()) {
    return Printed("an ExecCredential whose status has " +
                   std::string(key.empty() ? "clientCertificateData and no clientKeyData"
                                           : "clientKeyData and no clientCertificateData"));
  }
  TRY(tls::CheckCertificates(certificate)
          .map_error(base::While("printed status.clientCertificateData that is wrong")));
  TRY(tls::CheckPair(certificate, key)
          .map_error(base::While("printed status.clientKeyData that is wrong")));
  credential.client_certificate_pem = certificate;
  credential.client_key_pem = key;
  return {};
}

Result<void> ReadExpiry(const Value& status, base::Clock::WallTime now,
                        ExecCredential& credential) {
  const Value& expiry = status["expirationTimestamp"];
  if (expiry.IsNull()) return {};
  credential.expires_at = TimeOf(expiry.AsString());
  if (!credential.expires_at) {
    return Printed("a status.expirationTimestamp that is no time such as 2026-01-02T15:04:05Z");
  }
  if (*credential.expires_at > now) return {};
  return Printed("what expired at " + base::FormatSeconds(*credential.expires_at) +
                 ", and here it is " + base::FormatSeconds(now) +
                 "; see to this clock, and to what the plugin keeps");
}

// ---- Running a plugin.

std::string FixOf(const ExecPlugin& plugin, const std::string& otherwise) {
  const std::string hint = json::OneLine(plugin.install_hint, kWordsMax);
  return "; " + (hint.empty() ? otherwise : hint);
}

std::string ValueOf(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return {};
}

// Skips relative folders of PATH, as Go does.
Result<std::string> PathOf(const ExecPlugin& plugin, const std::vector<std::string>& environment) {
  if (plugin.command.find('/') != std::string::npos) return plugin.command;
  const std::string folders = ValueOf(environment, "PATH");
  std::istringstream stream(folders);
  for (std::string folder; std::getline(stream, folder, ':');) {
    std::string path = folder + "/" + plugin.command;
    std::error_code ignored;
    if (folder.starts_with('/') && std::filesystem::is_regular_file(path, ignored) &&
        ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return Invalid(plugin.where + ".command: " + plugin.command + " is in no folder of PATH (" +
                 folders + ")" + FixOf(plugin, "install it, or write its whole path"));
}

// Leaves out the service manager's variables: the plugin could report in this process's name.
std::vector<std::string> EnvironmentOf(const ExecPlugin& plugin,
                                       const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> own = plugin.variables;
  std::erase_if(own, [](const auto& variable) { return variable.first == kInfoVariable; });
  own.emplace_back(kInfoVariable, plugin.info);
  std::vector<std::string> all;
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    const bool is_ours = name == "NOTIFY_SOCKET" || name.starts_with("WATCHDOG_");
    const bool is_replaced =
        std::ranges::any_of(own, [&](const auto& one) { return one.first == name; });
    if (!is_ours && !is_replaced) all.push_back(variable);
  }
  for (const auto& [name, value] : own) all.push_back(name + "=" + value);
  return all;
}

base::Error NotStarted(const ExecPlugin& plugin, const std::string& path,
                       const base::Error& error) {
  std::error_code ignored;
  std::string fix;
  switch (error.code) {
    case ErrorCode::kNotFound:
      fix = std::filesystem::exists(path, ignored)
                ? "; it is there, but not what its first line says that it runs with"
                : FixOf(plugin, "install it, or correct the path");
      break;
    case ErrorCode::kForbidden:
      fix = "; make it executable for this user";
      break;
    case ErrorCode::kInvalid:
      fix = "; a script begins with a line such as #!/bin/sh";
      break;
    case ErrorCode::kTooLarge:
      fix = "; shorten args and env, or turn provideClusterInfo off";
      break;
    default:
      break;
  }
  return {.code = ErrorCode::kInvalid,
          .message = plugin.where + ".command: " + path + ": " + error.message + fix};
}

std::string_view LastLine(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return {};
  text = text.substr(0, last + 1);
  return text.substr(text.find_last_of("\r\n") + 1);  // npos + 1 is 0.
}

Result<ExecCredential> CredentialOf(const base::ProgramEnd& end, const std::string& api_version,
                                    base::Clock::WallTime now) {
  using How = base::ProgramEnd::How;
  const std::string words = json::OneLine(LastLine(end.complaints), kWordsMax);
  const std::string said = words.empty() ? "without a word on stderr" : "saying: " + words;
  switch (end.how) {
    case How::kExited:
      if (end.status == 0) return DecodeExecCredential(end.output, api_version, now);
      return Invalid("ended with status " + std::to_string(end.status) + ", " + said +
                     std::string(kSeeMore));
    case How::kSignalled:
      return Invalid("was ended by signal " + std::to_string(end.status) + ", " + said +
                     std::string(kSeeMore));
    case How::kOutOfTime:
      return Invalid("did not end within 60 s and was killed, " + said +
                     "; log in by hand first: here it can ask nobody");
    case How::kTooMuchOutput:
      return Printed("more than 1 MiB; an ExecCredential is all that it may print");
    case How::kStopped:
      break;
  }
  return base::Unavailable("was ended with this process");
}

}  // namespace

std::string ExecPlugin::Identity() const {
  Value list = Value::Array({where, api_version, command, install_hint, info});
  for (const std::string& argument : arguments) list.Append(argument);
  list.Append(Value::Array());  // Separates arguments from variables.
  for (const auto& [name, value] : variables) list.Append(Value::Array({name, value}));
  return json::Serialize(list);
}

Result<ExecPlugin> ReadExecPlugin(const Kubeconfig::Entry& user, const Kubeconfig::Entry& cluster,
                                  const http::Endpoint& endpoint) {
  ExecPlugin plugin = {.where = user.where + ": exec"};
  const Value exec = user.Structure("exec");
  if (!exec.IsObject()) return Invalid(plugin.where + ": not a map");
  plugin.api_version = TRY(ApiVersionOf(exec, plugin.where));
  plugin.command = TRY(CommandOf(exec, plugin.where, user.folder));
  TRY(CheckInteractiveMode(exec, plugin));
  plugin.arguments = TRY(ArgumentsOf(exec, plugin.where));
  plugin.variables = TRY(VariablesOf(exec, plugin.where));
  plugin.install_hint = TRY(TextOf(exec["installHint"], plugin.where + ".installHint"));

  const Value& wants_cluster = exec["provideClusterInfo"];
  if (!wants_cluster.IsNull() && wants_cluster != Value(true) && wants_cluster != Value(false)) {
    return Invalid(plugin.where + ".provideClusterInfo: write true or false");
  }
  Value spec = Value::Object({{"interactive", false}});
  if (wants_cluster.AsBool()) spec["cluster"] = ClusterOf(cluster, endpoint);
  plugin.info = json::Serialize(Value::Object(
      {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}}));
  return plugin;
}

Result<ExecCredential> DecodeExecCredential(std::string_view printed,
                                            const std::string& api_version,
                                            base::Clock::WallTime now) {
  if (printed.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Printed("nothing; it must print an ExecCredential");
  }
  const Result<Value> parsed = json::Parse(printed);
  if (!parsed) {
    return Printed("what is no JSON (" + parsed.error().message +
                   "); it must print an ExecCredential and nothing else");
  }
  TRY(CheckKind(*parsed, api_version));
  const Value& status = (*parsed)["status"];
  ExecCredential credential;
  TRY(ReadCertificate(status, credential));
  if (const std::string& token = status["token"].AsString(); !token.empty()) {
    credential.token =
        TRY(CheckToken(token).map_error(base::While("printed status.token that is wrong")));
  }
  if (credential.token.empty() && credential.client_key_pem.empty()) {
    return Printed("an ExecCredential whose status has neither token nor clientCertificateData");
  }
  TRY(ReadExpiry(status, now, credential));
  return credential;
}

Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin,
                                     const std::vector<std::string>& environment,
                                     const base::Clock& clock, const std::stop_token& stop) {
  const std::string path = TRY(PathOf(plugin, environment));
  const base::Program program = {.path = path,
                                 .arguments = plugin.arguments,
                                 .environment = EnvironmentOf(plugin, environment)};
  const base::ProgramEnd end =
      TRY(base::RunProgram(program, kLimits, clock, stop).map_error([&](const base::Error& error) {
        return NotStarted(plugin, path, error);
      }));
  return CredentialOf(end, plugin.api_version, clock.Wall())
      .map_error(base::While(plugin.where + ": " + path));
}

}  // namespace kube
