#pragma once

#include <gtest/gtest.h>

#include <string>

namespace kube {

// Returns `text` with the first `from` replaced by `to`. The test fails if `from` is missing.
inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "nothing to replace: " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace kube
