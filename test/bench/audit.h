// The API server's audit log, as the source of figures.
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

// One answered request.
struct AuditEvent {
  std::string user = {};
  std::string credential = {};  // Id of the token. Two tokens of one account differ in it.
  std::string verb = {};        // RBAC verb: "list", "patch", "deletecollection".
  std::string resource = {};    // "nodes"
  std::string subresource = {};
  std::string ns = {};
  std::string name = {};  // Empty for a create whose name the server chose.
  int code = 0;
  WallTime received = {};
  WallTime completed = {};

  bool Succeeded() const { return code >= 200 && code < 300; }
  bool IsWrite() const { return verb != "get" && verb != "list" && verb != "watch"; }
  // "nodes", "nodes/status"
  bool IsOn(std::string_view what) const;
};

// Used by one thread. Bound: all events since it was opened, some 300 bytes each. Omits the
// kubelets' renewals of their Leases, of which there are thousands.
class AuditLog {
 public:
  explicit AuditLog(const std::string& path) : file_(path), path_(path) {}

  // Reads the whole lines that were written since the last call. Returns kInvalid if the file
  // cannot be read, or a line is not an audit event.
  base::Result<void> Read();

  // Returns the current end: Since(Mark()) grows with each Read().
  std::size_t Mark() const { return events_.size(); }
  std::span<const AuditEvent> Since(std::size_t mark) const {
    return std::span(events_).subspan(mark);
  }

 private:
  base::Result<void> Take(std::string_view line);

  std::ifstream file_;
  const std::string path_;
  std::string rest_;  // Start of an incomplete line.
  json::Parser parser_;
  std::vector<AuditEvent> events_;
};

}  // namespace bench
