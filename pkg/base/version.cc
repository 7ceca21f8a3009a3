#include "pkg/base/version.h"

#include "revision.h"

namespace base {

std::string_view Version() { return CDOM_VERSION; }
std::string_view Revision() { return CDOM_REVISION; }

std::string UserAgent(std::string_view program) {
  return "cdom/" + std::string(Version()) + " (linux) " + std::string(program);
}

}  // namespace base
