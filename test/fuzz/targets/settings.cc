// The file of --config, and the flags.
#include "controller/settings/settings.h"

#include <algorithm>

#include "controller/daemon_set/render.h"
#include "controller/settings/configuration.h"
#include "controller/settings/testing/flags.h"
#include "pkg/json/utf8.h"
#include "pkg/json/value.h"
#include "test/fuzz/hostile.h"

namespace {

using settings::Settings;

void CheckBounds(const Settings& settings) {
  using std::chrono::hours, std::chrono::seconds;
  for (const auto& time : {settings.rules.deletion_grace, settings.rules.index_hold,
                           settings.rules.rollout.settle, settings.rules.rollout.deadline}) {
    CHECK(time >= seconds(0) && time <= hours(1000));
  }
  CHECK(settings.rules.status_window >= seconds(0) && settings.rules.status_window <= hours(1000));
  CHECK(settings.rules.rollout.cliques_max >= 0 && settings.rules.rollout.cliques_max <= 1000);
  for (const std::string& taint : settings.rules.leaving_taints) {
    CHECK(!taint.empty() && json::OneLine(taint, 320) == taint);
  }
}

// What follows from it is a DaemonSet, in JSON that reads as what was rendered.
void CheckRendered(const Settings& settings) {
  const json::Value rendered = daemon_set::Render("uid", settings.rules.daemons);
  const std::string text = json::Serialize(rendered);
  const auto read = json::Parse(text);
  CHECK(read);
  fuzz::CheckSame(json::Serialize(*read), text);
  CHECK((*read)["kind"].AsString() == "DaemonSet");
}

}  // namespace

// A file of --config (Z8):
//  - is refused with kInvalid and a message that begins with the file, and then sets nothing;
//  - or sets what lies within its bounds, and daemons that can be rendered.
FUZZ_TARGET(configuration, bytes) {
  Settings settings;
  const auto read = settings::ReadConfiguration(std::string(bytes), "config.yaml", settings);
  CheckBounds(settings);
  CheckRendered(settings);
  if (read) return;
  CHECK(read.error().code == base::ErrorCode::kInvalid);
  CHECK(read.error().message.starts_with("config.yaml:"));
  CHECK(settings.pull_secrets.empty() && settings.rules.daemons.environment.empty());
  CHECK(settings.rules.deletion_grace == Settings().rules.deletion_grace);
}

// A command line:
//  - is refused with a text for people and a status that is not 0;
//  - or prints help or the version, with 0;
//  - or gives settings with which a controller can run.
FUZZ_TARGET(flags, bytes) {
  static const std::vector<settings::Flag> all = settings::Flags();
  fuzz::Input input = fuzz::InputOf(bytes);
  std::vector<std::string> arguments = {"--pod-name=pod", "--image-name=image"};
  while (input.remaining_bytes() > 0 && arguments.size() < 12) {
    const auto which = input.ConsumeIntegralInRange<std::size_t>(0, all.size() + 2);
    std::string word = which < all.size() ? all[which].name : fuzz::Text(input);
    const bool reads_file = word.find("config") != std::string::npos;
    if (reads_file) continue;
    if (input.ConsumeBool()) word.erase(0, 1);
    if (input.ConsumeBool()) word += "=";
    arguments.push_back(word + (input.ConsumeBool() ? fuzz::Text(input) : ""));
  }
  const settings::Parsed parsed = settings::Parse(arguments);
  if (parsed.exit) {
    CHECK(!parsed.exit->text.empty());
    return;
  }
  const Settings& read = parsed.settings;
  CheckBounds(read);
  CHECK(read.nodes_per_imex_domain_max >= 1 && read.nodes_per_imex_domain_max <= 10'000);
  CHECK(read.workers >= 1 && read.workers <= 64);
  CHECK(read.verbosity >= 0 && read.verbosity <= 10);
  CHECK(!read.lease_namespace.empty() || read.ns.empty());
  CHECK(!read.elects || kube::Validate(read.lease));
}
