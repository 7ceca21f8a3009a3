#include "test/bench/audit.h"

#include <array>
#include <optional>
#include <utility>

#include "pkg/base/rfc3339.h"

namespace bench {

namespace {

using base::ErrorCode;
using base::Result;

constexpr std::string_view kCredentialId = "authentication.kubernetes.io/credential-id";
constexpr std::string_view kKubeletLeases = "kube-node-lease";

}  // namespace

bool AuditEvent::IsOn(std::string_view what) const {
  return subresource.empty() ? what == resource : what == resource + "/" + subresource;
}

Result<void> AuditLog::Take(std::string_view line) {
  const json::View event = TRY(parser_.Parse(line));
  // A watch is told of when it begins, too.
  if (event["stage"].AsString() != "ResponseComplete") return {};
  const json::View object = event["objectRef"];
  if (object["namespace"].AsString() == kKubeletLeases) return {};
  const auto received = base::ParseTime(event["requestReceivedTimestamp"].AsString());
  const auto completed = base::ParseTime(event["stageTimestamp"].AsString());
  if (!received || !completed) return base::Fail(ErrorCode::kInvalid, "an event without its times");
  events_.push_back(
      {.user = std::string(event["user"]["username"].AsString()),
       .credential = std::string(event["user"]["extra"][kCredentialId].at(0).AsString()),
       .verb = std::string(event["verb"].AsString()),
       .resource = std::string(object["resource"].AsString()),
       .subresource = std::string(object["subresource"].AsString()),
       .ns = std::string(object["namespace"].AsString()),
       .name = std::string(object["name"].AsString()),
       .code = static_cast<int>(event["responseStatus"]["code"].AsInt().value_or(0)),
       .received = *received,
       .completed = *completed});
  return {};
}

Result<void> AuditLog::Read() {
  if (!file_.is_open()) return base::Fail(ErrorCode::kInvalid, "cannot read " + path_);
  std::array<char, 1U << 16U> bytes{};
  do {
    file_.clear();  // The end of the file is only its end until now.
    file_.read(bytes.data(), bytes.size());
    std::string_view read(bytes.data(), static_cast<std::size_t>(file_.gcount()));
    for (std::size_t end = read.find('\n'); end != std::string_view::npos; end = read.find('\n')) {
      rest_ += read.substr(0, end);
      read.remove_prefix(end + 1);
      const std::string line = std::exchange(rest_, {});
      TRY(Take(line).map_error(base::While(path_)));
    }
    rest_ += read;
  } while (file_.gcount() > 0);
  return {};
}

}  // namespace bench
