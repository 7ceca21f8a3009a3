#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace kube {

// One page of a LIST, whose items are still text: they are parsed one after the other, so that
// memory follows the largest object instead of the page, and an object that cannot be read stands
// alone.
struct ListPage {
  std::string kind = {};  // Of the list, such as "NodeList"; an item has none of its own.
  std::string resource_version = {};
  std::string continue_token = {};           // Empty on the last page.
  std::vector<std::string_view> items = {};  // Into the body.
};

// kInvalid for anything that is not a JSON object. `body` outlives the page.
[[nodiscard]] base::Result<ListPage> ReadListPage(std::string_view body);

}  // namespace kube
