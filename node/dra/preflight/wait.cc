#include "node/dra/preflight/wait.h"

#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

namespace dra {

constexpr std::chrono::seconds kPause{2};

base::Result<void> WaitForNode(const WaitContext& context, const std::function<Look()>& look) {
  const auto until = context.clock.Now() + context.most;
  std::set<std::string> said;
  const auto say_once = [&](const std::string& line) {
    if (said.insert(line).second) context.say(line);
  };
  for (;;) {
    const Look found = look();
    for (const std::string& fact : found.facts) say_once("FACT " + fact);
    bool stops = false;
    for (const Finding& finding : found.findings) {
      say_once((finding.stops ? "MISSING " : "NOTE ") + finding.text);
      stops = stops || finding.stops;
    }
    if (!stops) {
      context.say("This node has everything that is needed: " + found.has);
      return {};
    }
    if (context.clock.Now() >= until) return base::Unavailable("something is still missing");
    context.pause(kPause);
  }
}

std::string CdiTrouble(const std::string& folder) {
  if (auto made = MakeFolders(folder); !made) return made.error().message;
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return folder + " cannot be written: " + std::generic_category().message(errno);
}

}  // namespace dra
