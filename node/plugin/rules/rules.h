// The rules of a plugin together. Tests replace one of them by a wrong one.
#pragma once

#include <functional>

#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/garbage.h"
#include "node/plugin/rules/prepare.h"

namespace plugin {

struct Rules {
  std::function<decltype(Prepare)> prepare = &Prepare;
  std::function<decltype(Unprepare)> unprepare = &Unprepare;
  std::function<decltype(FindGarbage)> find_garbage = &FindGarbage;
  std::function<decltype(Resume)> resume = &Resume;
  std::function<decltype(Rebuild)> rebuild = &Rebuild;
};

}  // namespace plugin
