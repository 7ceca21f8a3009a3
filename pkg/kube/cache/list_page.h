// Reads one page of a LIST.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace kube {

// One page of a LIST, with its items as text. The caller parses one item at a time: memory then
// grows with the largest object, not with the page, and an invalid object does not affect the
// others.
struct ListPage {
  std::string kind = {};  // Of the list, such as "NodeList". Items have no kind.
  std::string resource_version = {};
  std::string continue_token = {};           // Empty on the last page.
  std::vector<std::string_view> items = {};  // Views of the body.
};

// Returns kInvalid if `body` is not a JSON object. `body` outlives the page.
base::Result<ListPage> ReadListPage(std::string_view body);

}  // namespace kube
