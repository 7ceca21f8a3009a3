#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "pkg/http/transport.h"

namespace http::testing {

// A Transport that returns scripted answers in order, and records the requests in `asked`.
class Script final : public Transport {
 public:
  void Answer(int status, std::string body) {
    answers_.push_back({.status = status, .body = std::move(body)});
  }
  std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) override {
    std::vector<base::Result<Response>> replies;
    for (const Request& request : requests) {
      asked.push_back(request);
      EXPECT_FALSE(answers_.empty()) << request.path;
      replies.emplace_back(answers_.empty() ? Response() : answers_.front());
      if (!answers_.empty()) answers_.pop_front();
    }
    return replies;
  }
  std::vector<Request> asked;

 private:
  std::deque<Response> answers_;
};

}  // namespace http::testing
