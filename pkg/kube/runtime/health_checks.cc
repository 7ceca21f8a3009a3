#include "pkg/kube/runtime/health_checks.h"

#include <algorithm>

namespace kube {
namespace {

using base::Result;
using http::ServerReply;
using http::ServerRequest;

constexpr int kNotFound = 404;
constexpr int kFailed = 500;

bool IsExcluded(const ServerRequest& request, const std::string& name) {
  const auto [first, last] = request.query.equal_range("exclude");
  return std::any_of(first, last, [&](const auto& parameter) { return parameter.second == name; });
}

ServerReply AnswerOne(const HealthCheck& check) {
  const Result<void> result = check.run();
  if (result) return {.body = "ok"};
  return {.status = kFailed, .body = check.name + " failed: " + result.error().message + "\n"};
}

}  // namespace

ServerReply AnswerHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                         const ServerRequest& request) {
  const std::string prefix = "/" + endpoint;
  if (request.path.size() > prefix.size() + 1) {
    const std::string name = request.path.substr(prefix.size() + 1);
    const auto it = std::ranges::find(checks, name, &HealthCheck::name);
    if (it != checks.end()) return AnswerOne(*it);
    return {.status = kNotFound, .body = "there is no such check\n"};
  }

  std::string lines;
  bool all_passed = true;
  for (const HealthCheck& check : checks) {
    if (IsExcluded(request, check.name)) {
      lines += "[+]" + check.name + " excluded: ok\n";
      continue;
    }
    const Result<void> result = check.run();
    all_passed &= result.has_value();
    lines += result ? "[+]" + check.name + " ok\n"
                    : "[-]" + check.name + " failed: " + result.error().message + "\n";
  }
  if (!all_passed) return {.status = kFailed, .body = lines + endpoint + " check failed\n"};
  if (request.query.contains("verbose")) return {.body = lines + endpoint + " check passed\n"};
  return {.body = "ok"};
}

}  // namespace kube
