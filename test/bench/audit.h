// The API server's audit log, as far as figures are made of it: who asked for what, and when.
#pragma once

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace bench {

using WallTime = base::Clock::WallTime;

// One request that was answered.
struct AuditEvent {
  std::string user = {};
  std::string credential = {};  // Of a token: its id. Two tokens of one account differ in it.
  std::string verb = {};        // As RBAC has it: "list", "patch", "deletecollection".
  std::string resource = {};    // "nodes"
  std::string subresource = {};
  std::string ns = {};
  std::string name = {};  // Empty for a create whose name the server chose.
  int code = 0;
  WallTime received = {};
  WallTime completed = {};

  [[nodiscard]] bool Succeeded() const { return code >= 200 && code < 300; }
  [[nodiscard]] bool IsWrite() const { return verb != "get" && verb != "list" && verb != "watch"; }
  // "nodes", "nodes/status"
  [[nodiscard]] bool IsOn(std::string_view what) const;
};

// Used by one thread. Bound: all events since it was opened, some 300 bytes each; the kubelets'
// renewals of their Leases, of which there are thousands, are left out.
class AuditLog {
 public:
  explicit AuditLog(const std::string& path) : file_(path), path_(path) {}

  // Takes in what was written since the last call, whole lines only. kInvalid: the file cannot be
  // read, or a line of it is no audit event.
  [[nodiscard]] base::Result<void> Read();

  // What comes after now: Since(Mark()) grows with each Read().
  [[nodiscard]] std::size_t Mark() const { return events_.size(); }
  [[nodiscard]] std::span<const AuditEvent> Since(std::size_t mark) const {
    return std::span(events_).subspan(mark);
  }

 private:
  [[nodiscard]] base::Result<void> Take(std::string_view line);

  std::ifstream file_;
  const std::string path_;
  std::string rest_;  // Of a line whose end is not written yet.
  json::Parser parser_;
  std::vector<AuditEvent> events_;
};

}  // namespace bench
