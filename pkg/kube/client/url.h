// Parses URLs.
#pragma once

#include <string>

#include "pkg/base/result.h"

namespace kube {

struct Url {
  std::string scheme = {};
  std::string host = {};  // An IPv6 address has no brackets.
  std::string port = {};  // The scheme's default if the text has none.
  bool has_user = false;
  bool has_query_or_fragment = false;
};

// Returns kInvalid unless `text` is "scheme://host...".
base::Result<Url> ParseUrl(const std::string& text);

}  // namespace kube
