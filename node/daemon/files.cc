#include "node/daemon/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "pkg/base/file.h"
#include "pkg/base/open_file.h"
#include "pkg/base/text.h"

namespace imex_daemon {

namespace {

using base::FailedTo, base::Result;

constexpr mode_t kMode = 0644;

// Truncates the file after `content`.
Result<void> WriteFile(const std::string& path, int flags, const std::string& content) {
  base::OpenFile file(path, flags | O_WRONLY, kMode);
  if (!file.is_open()) return FailedTo("open", path, errno);
  if (const int error = file.Write(content); error != 0) return FailedTo("write", path, error);
  if (::ftruncate(file.fd(), static_cast<off_t>(content.size())) != 0) {
    return FailedTo("write", path, errno);
  }
  if (const int error = file.Close(); error != 0) return FailedTo("write", path, error);
  return {};
}

bool IsRunnable(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<void> ReplaceFile(const std::string& path, const std::string& content) {
  const auto before = base::ReadFile(path, content.size() + 1);
  if (before && *before == content) return {};
  const std::string next = path + ".next";
  if (auto written = WriteFile(next, O_CREAT | O_TRUNC, content); !written) {
    ::unlink(next.c_str());
    return written;
  }
  if (std::rename(next.c_str(), path.c_str()) != 0) return FailedTo("replace", path, errno);
  return {};
}

Result<void> WriteInPlace(const std::string& path, const std::string& content) {
  return WriteFile(path, 0, content);
}

Result<void> CheckWritable(const std::string& path) {
  if (!base::OpenFile(path, O_WRONLY).is_open()) return FailedTo("open", path, errno);
  return {};
}

Result<std::string> FindProgram(const std::string& name, const std::string& search) {
  if (name.find('/') != std::string::npos) {
    if (IsRunnable(name)) return name;
    return base::Fail(base::ErrorCode::kNotFound, name + " is not a program that can be run");
  }
  for (std::string_view rest = search; !rest.empty();) {
    const std::string folder(base::TakePart(rest, ':'));
    if (!folder.empty() && IsRunnable(folder + "/" + name)) return folder + "/" + name;
  }
  return base::Fail(base::ErrorCode::kNotFound, name + " is in no folder of PATH (" + search + ")");
}

}  // namespace imex_daemon
