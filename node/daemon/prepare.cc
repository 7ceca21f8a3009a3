#include "node/daemon/prepare.h"

#include "node/daemon/files.h"
#include "node/imex/answers.h"
#include "node/imex/config_template.h"
#include "node/imex/names.h"
#include "pkg/base/file.h"
#include "pkg/base/subprocess.h"
#include "pkg/json/utf8.h"

namespace imexd {

namespace {

using base::Result;

constexpr std::size_t kTemplateMax = 64U << 10;
constexpr std::chrono::seconds kCheckTime{8};  // A probe has 10 s.
constexpr std::size_t kSaidMax = 200;

// For map_error: what to do about it.
auto Advise(std::string advice) {
  return [advice = std::move(advice)](base::Error error) {
    error.message += "; " + advice;
    return error;
  };
}

Result<std::string> FindImex(const std::string& name, const std::string& search) {
  return FindProgram(name, search)
      .map_error(
          Advise("it comes with the node's driver: install the package nvidia-imex there, of "
                 "the driver's version"));
}

Result<std::string> Configuration(const Settings& settings) {
  const std::string path = settings.PathOf(imex::kTemplateFile);
  const std::string text = TRY(base::ReadFile(path, kTemplateMax)
                                   .map_error(Advise("the kubelet plugin mounts it with this pod's "
                                                     "claim: see the plugin's log")));
  return imex::RenderConfig(text, {.cmd_bind_ip = settings.self.ip,
                                   .nodes_path = settings.PathOf(imex::kNodesFile)})
      .map_error(base::While(path))
      .map_error(Advise("put the template of the kubelet plugin right"));
}

}  // namespace

Result<Programs> Prepare(const Settings& settings, const std::string& search) {
  Programs programs = {.imex = TRY(FindImex(settings.program, search)),
                       .ctl = TRY(FindImex(settings.ctl_program, search))};
  const std::string configuration = TRY(Configuration(settings));
  const std::string on_the_node =
      "make room, or mount it so that it can be written; it lies on the "
      "node, in the kubelet plugin's folder";
  TRY(ReplaceFile(settings.PathOf(imex::kConfigFile), configuration)
          .map_error(Advise(on_the_node)));
  TRY(ReplaceFile(settings.PathOf(imex::kNodesFile), imex::RenderNodes(settings.self.nodes_max))
          .map_error(Advise(on_the_node)));
  TRY(CheckWritable(settings.hosts_file).map_error(Advise(kHostsAdvice)));
  return programs;
}

Result<void> Check(const Settings& settings, const std::string& search,
                   const std::vector<std::string>& environment, const base::Clock& clock,
                   const std::stop_token& stop) {
  if (settings.self.clique.empty()) return {};
  const std::string ctl = TRY(FindImex(settings.ctl_program, search));
  const auto end =
      TRY(base::RunProgram({.path = ctl,
                            .arguments = {"-c", settings.PathOf(imex::kConfigFile), "-q"},
                            .environment = environment},
                           {.time = kCheckTime}, clock, stop)
              .map_error(base::While(ctl)));
  const bool exited = end.how == base::ProgramEnd::How::kExited && end.status == 0;
  if (exited && end.complaints.empty() && imex::SaysReady(end.output)) return {};
  const std::string said = json::OneLine(end.output + end.complaints, kSaidMax);
  return base::Fail(base::ErrorCode::kUnavailable,
                    "IMEX is not ready: " + (said.empty() ? ctl + " did not answer" : said));
}

}  // namespace imexd
