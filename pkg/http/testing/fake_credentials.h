#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/http/endpoint.h"

namespace http::testing {

// Returns the given tokens. Each Invalidate() switches to the next one; the last one stays.
class FakeCredentials final : public Credentials {
 public:
  explicit FakeCredentials(std::vector<std::string> tokens = {""}) : tokens_(std::move(tokens)) {}

  std::string BearerToken() override {
    return tokens_[std::min(invalidations(), tokens_.size() - 1)];
  }
  void Invalidate() override {
    invalidations_.With([](std::size_t& count) { ++count; });
  }
  std::size_t invalidations() const {
    return invalidations_.With([](const std::size_t& count) { return count; });
  }

 private:
  const std::vector<std::string> tokens_;
  base::Guarded<std::size_t> invalidations_{0};
};

}  // namespace http::testing
