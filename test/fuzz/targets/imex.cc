// What reaches the daemon of a node: its template, its hosts file, answers and lines of IMEX; and
// what reaches the controller of that.
#include <algorithm>

#include "controller/api/imex_report.h"
#include "node/imex/answers.h"
#include "node/imex/config_template.h"
#include "node/imex/hosts_file.h"
#include "node/imex/names.h"
#include "pkg/json/utf8.h"
#include "test/fuzz/fuzz.h"

namespace {

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

// The hosts file, whatever stood in it:
//  - written twice it is as it was written once;
//  - taken away again, nothing is left of us, and every other line is where it was;
//  - a name of a daemon stands on our lines alone.
FUZZ_TARGET(hosts_file, bytes) {
  constexpr int kNodes = 8;
  const imex::NodeNames names = {.prefix = imex::PrefixOf("uid"), .count = kNodes};
  const imex::NodeNames none = {.prefix = names.prefix, .count = 0};
  const std::vector<imex::HostsEntry> hosts = {{.index = 0, .ip = "10.0.0.1"},
                                               {.index = 7, .ip = "::1"}};
  const std::string written = imex::WithHosts(bytes, hosts, names);
  fuzz::CheckSame(imex::WithHosts(written, hosts, names), written);
  const std::string without = imex::WithHosts(bytes, {}, none);
  fuzz::CheckSame(imex::WithHosts(written, {}, none), without);
  CHECK(written.starts_with(without));
  CHECK(std::ranges::count(written, '\n') == std::ranges::count(without, '\n') + kNodes + 2);
  std::vector<std::string> kept = LinesOf(without);
  std::size_t next = 0;
  for (const std::string& line : LinesOf(bytes)) {
    if (next < kept.size() && kept[next] == line) ++next;
  }
  CHECK(next == kept.size());
}

// The template:
//  - one that is understood has nothing of an action left in it, and both values where they belong;
//  - one that is not is told in one short line.
FUZZ_TARGET(config_template, bytes) {
  const imex::ConfigValues values = {.cmd_bind_ip = "10.0.0.7", .nodes_path = "/imexd/nodes.cfg"};
  const auto rendered = imex::RenderConfig(bytes, values);
  if (!rendered) {
    CHECK(rendered.error().message.size() < 300);
    fuzz::CheckSame(json::OneLine(rendered.error().message, 300), rendered.error().message);
    return;
  }
  if (bytes.find("{{") == std::string_view::npos) return fuzz::CheckSame(*rendered, bytes);
  CHECK(rendered->size() <= bytes.size() + bytes.size() / 4 * values.nodes_path.size());
}

// Answers of nvidia-imex-ctl, and lines of IMEX's log: what is taken out of them is within its
// bounds.
FUZZ_TARGET(imex_answers, bytes) {
  CHECK(imex::SaysReady(bytes) == (bytes == "READY\n"));
  const std::string state = imex::StateIn(bytes);
  CHECK(!state.empty() && state.size() <= 32);
  CHECK(std::ranges::all_of(state, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; }));
  if (const auto index = imex::IndexInLine(bytes)) CHECK(*index >= 0 && *index < imex::kNodesMax);
  static_cast<void>(imex::SaysInUse(bytes));
  const auto view = imex::ParseOwnView(bytes, 0);
  if (!view) return;
  CHECK(!view->connected.contains(0) && view->version.size() <= 32);
  fuzz::CheckSame(json::OneLine(view->version, 32), view->version);
  CHECK(view->connected.empty() ||
        (*view->connected.begin() > 0 && *view->connected.rbegin() < imex::kNodesMax));
}

// The annotation in which a daemon reports:
//  - what is read of it, written and read again, is the same;
//  - it is within its bounds.
FUZZ_TARGET(imex_report, bytes) {
  const auto report = api::DecodeImexReport(bytes);
  if (!report) return;
  CHECK(report->state.size() <= 32 && report->version.size() <= 32 && report->started.size() <= 32);
  CHECK(report->unreachable.size() <= api::kUnreachableMax);
  const std::string written = api::Encode(*report);
  CHECK(written.size() <= 1024);
  CHECK(api::DecodeImexReport(written) == report);
}
