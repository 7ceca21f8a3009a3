#include "node/daemon/imex_setup.h"

#include <array>

#include "node/daemon/files.h"
#include "node/imex/config_template.h"
#include "node/imex/names.h"
#include "pkg/base/file.h"

namespace imex_daemon {

namespace {

using base::Result;

constexpr std::size_t kTemplateMax = 64U << 10;
constexpr std::size_t kKeyMax = 1U << 20;  // The limit of a Secret.
// A name that the certificate has, whichever domain the daemon is of.
constexpr const char* kCertifiedName = "compute-domain-daemon-0000";

// For map_error: adds what to do.
auto Advise(std::string advice) {
  return [advice = std::move(advice)](base::Error error) {
    error.message += "; " + advice;
    return error;
  };
}

// Returns the keys of IMEX's configuration that the controller sets, named as in IMEX's guide. One
// pair of TLS keys serves both ends of a connection.
Result<imex::ConfigKeys> ConfigKeysOf(const Settings& settings) {
  imex::ConfigKeys keys;
  if (settings.disconnected_grace) {
    keys.emplace_back("IMEX_NODE_DISCONNECTED_GRACE_TIME",
                      std::to_string(*settings.disconnected_grace));
  }
  if (!settings.encrypts) return keys;
  keys.insert(keys.end(), {{"IMEX_ENABLE_AUTH_ENCRYPTION", "1"},
                           {"IMEX_AUTH_ENCRYPTION_MODE", "SSL_TLS"},
                           {"IMEX_AUTH_SOURCE", "FILE"},
                           // All daemons have one certificate, and names differ between domains.
                           {"IMEX_SECURITY_TARGET_OVERRIDE", kCertifiedName}});
  const std::array<std::array<const char*, 3>, 3> files = {
      {{"tls.key", "IMEX_SERVER_KEY", "IMEX_CLIENT_KEY"},
       {"tls.crt", "IMEX_SERVER_CERT", "IMEX_CLIENT_CERT"},
       {"ca.crt", "IMEX_SERVER_CERT_AUTH", "IMEX_CLIENT_CERT_AUTH"}}};
  for (const auto& [file, server, client] : files) {
    const std::string path = settings.keys_folder + "/" + file;
    TRY(base::ReadFile(path, kKeyMax)
            .map_error(base::While("IMEX must encrypt, and its keys are missing"))
            .map_error(
                Advise("name a Secret with tls.key, tls.crt and ca.crt in the setting "
                       "daemons.imex.authSecret, or switch daemons.imex.authEncryption off")));
    keys.emplace_back(server, path);
    keys.emplace_back(client, path);
  }
  return keys;
}

Result<std::string> Configuration(const Settings& settings) {
  const std::string path = settings.PathOf(imex::kTemplateFile);
  const std::string text = TRY(base::ReadFile(path, kTemplateMax)
                                   .map_error(Advise("the kubelet plugin mounts it with this pod's "
                                                     "claim: see the plugin's log")));
  const std::string rendered =
      TRY(imex::RenderConfig(text, {.cmd_bind_ip = settings.self.ip,
                                    .nodes_path = settings.PathOf(imex::kNodesFile)})
              .map_error(base::While(path))
              .map_error(Advise("fix the template of the kubelet plugin")));
  return imex::WithKeys(rendered, TRY(ConfigKeysOf(settings)));
}

}  // namespace

Result<std::string> FindImex(const std::string& name, const std::string& search) {
  return FindProgram(name, search)
      .map_error(
          Advise("it comes with the node's driver: install the package nvidia-imex there, of "
                 "the driver's version"));
}

Result<Programs> Prepare(const Settings& settings, const std::string& search) {
  Programs programs = {.imex = TRY(FindImex(settings.program, search)),
                       .ctl = TRY(FindImex(settings.ctl_program, search))};
  const std::string configuration = TRY(Configuration(settings));
  const std::string on_the_node =
      "make room, or mount it writable; it is on the node, in the kubelet plugin's folder";
  TRY(ReplaceFile(settings.PathOf(imex::kConfigFile), configuration)
          .map_error(Advise(on_the_node)));
  TRY(ReplaceFile(settings.PathOf(imex::kNodesFile), imex::RenderNodes(settings.self.Names()))
          .map_error(Advise(on_the_node)));
  TRY(CheckWritable(settings.hosts_file).map_error(Advise(kHostsAdvice)));
  return programs;
}

}  // namespace imex_daemon
