#include "pkg/kube/runtime/health_server.h"

#include <algorithm>
#include <utility>

namespace kube {
namespace {

using http::ServerReply, http::ServerRequest;

constexpr int kNotFound = 404;
constexpr int kFailed = 500;

bool IsExcluded(const ServerRequest& request, const std::string& name) {
  const auto [first, last] = request.query.equal_range("exclude");
  return std::any_of(first, last, [&](const auto& parameter) { return parameter.second == name; });
}

ServerReply AnswerOne(const HealthCheck& check) {
  const base::Result<void> result = check.run();
  if (result) return {.body = "ok"};
  return {.status = kFailed, .body = check.name + " failed: " + result.error().message + "\n"};
}

bool IsAt(const std::string& path, const std::string& endpoint) {
  const std::string prefix = "/" + endpoint;
  return path == prefix || path.starts_with(prefix + "/");
}

// Returns a line for each page below `folder`, e.g. "/" or "/debug". Empty if there is none.
std::string IndexOf(const std::map<std::string, std::function<std::string()>>& pages,
                    const std::string& folder) {
  const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  std::string lines;
  for (const auto& [path, make] : pages) {
    if (path.starts_with(prefix)) lines += path + "\n";
  }
  return lines;
}

}  // namespace

ServerReply AnswerHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                         const ServerRequest& request, const std::vector<std::string>& notes) {
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
    const base::Result<void> result = check.run();
    all_passed &= result.has_value();
    lines += result ? "[+]" + check.name + " ok\n"
                    : "[-]" + check.name + " failed: " + result.error().message + "\n";
  }
  std::string noted;
  for (const std::string& note : notes) noted += "note: " + note + "\n";
  lines += noted;
  if (!all_passed) return {.status = kFailed, .body = lines + endpoint + " check failed\n"};
  if (request.query.contains("verbose")) return {.body = lines + endpoint + " check passed\n"};
  return {.body = noted.empty() ? "ok" : "ok\n" + noted};
}

HealthServer::HealthServer(HealthOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      server_([this](const ServerRequest& request) { return Answer(request); }, clock) {}

base::Result<int> HealthServer::Start(const std::string& address) { return server_.Start(address); }

http::Server::Answer HealthServer::Answer(const ServerRequest& request) const {
  for (const char* endpoint : {"livez", "healthz"}) {
    if (IsAt(request.path, endpoint)) return AnswerHealth(endpoint, options_.live, request);
  }
  if (IsAt(request.path, "readyz")) {
    return AnswerHealth("readyz", options_.ready, request, options_.ready_notes);
  }
  if (request.path == options_.metrics_path && !options_.metrics.empty()) {
    return [this] { return MetricsPage(options_.metrics); };
  }
  if (const auto page = options_.pages.find(request.path); page != options_.pages.end()) {
    return [&make = page->second] {
      return ServerReply{.body = make(), .content_type = "application/json"};
    };
  }
  if (std::string index = IndexOf(options_.pages, request.path); !index.empty()) {
    return ServerReply{.body = std::move(index)};
  }
  return ServerReply{.status = kNotFound, .body = "not found\n"};
}

}  // namespace kube
