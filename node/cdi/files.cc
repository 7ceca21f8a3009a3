#include "node/cdi/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "pkg/base/check.h"
#include "pkg/base/file.h"
#include "pkg/base/open_file.h"

namespace cdi {

namespace {

using base::FailedTo, base::Result;

constexpr std::string_view kClaim = "-claim_";  // Follows the vendor.
constexpr std::string_view kSuffix = ".yaml";
// Runtimes ignore this suffix: they read files that end in .yaml or .json.
constexpr std::string_view kHalf = ".cdom-half";
constexpr mode_t kMode = 0600;
constexpr std::size_t kUidMax = 64;
// All 2048 channels make 320 KiB.
constexpr std::size_t kBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kEntriesMax = 100'000;

Result<void> WriteHalf(const std::string& path, std::string_view content, FileAccess access) {
  // A file that a crash left may have any mode, or be a link.
  ::unlink(path.c_str());
  base::OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
  if (!file.is_open()) return FailedTo("open", path, errno);
  if (const int error = file.Write(content); error != 0) return FailedTo("write", path, error);
  // Sets the mode of this very file, whatever the umask of the process is.
  if (::fchmod(file.fd(), static_cast<mode_t>(access)) != 0) return FailedTo("write", path, errno);
  if (::fsync(file.fd()) != 0) return FailedTo("write", path, errno);
  if (const int error = file.Close(); error != 0) return FailedTo("write", path, error);
  return {};
}

Result<void> SyncFolder(const std::string& folder) {
  const base::OpenFile file(folder, O_RDONLY | O_DIRECTORY);
  if (!file.is_open()) return FailedTo("open", folder, errno);
  if (::fsync(file.fd()) != 0) return FailedTo("write", folder, errno);
  return {};
}

}  // namespace

std::string ClaimFile(std::string_view vendor, std::string_view uid) {
  CHECK(IsFileSafe(uid));
  return std::string(vendor).append(kClaim).append(uid).append(kSuffix);
}

bool IsFileSafe(std::string_view uid) {
  return !uid.empty() && uid.size() <= kUidMax && std::ranges::all_of(uid, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Result<void> ReplaceFile(const std::string& folder, const std::string& file,
                         std::string_view content, FileAccess access) {
  const std::string path = folder + "/" + file;
  const std::string half = folder + "/." + file + std::string(kHalf);
  if (auto written = WriteHalf(half, content, access); !written) {
    ::unlink(half.c_str());
    return written;
  }
  if (std::rename(half.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(half.c_str());
    return FailedTo("replace", path, error);
  }
  return SyncFolder(folder);
}

Result<void> Remove(const std::string& folder, const std::string& file) {
  const std::string path = folder + "/" + file;
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return FailedTo("remove", path, errno);
}

Result<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (names.size() == kEntriesMax) {
      return base::Fail(base::ErrorCode::kTooLarge, "list " + folder + ": more than 100,000 files");
    }
    names.push_back(it->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return base::Invalid("list " + folder + ": " + error.message());
  }
  std::ranges::sort(names);
  return names;
}

Result<std::vector<std::string>> ClaimsIn(const std::string& folder, std::string_view vendor) {
  const std::string prefix = std::string(vendor).append(kClaim);
  std::vector<std::string> uids;
  for (const std::string& file : TRY(NamesIn(folder))) {
    std::string_view uid = file;
    if (!uid.starts_with(prefix) || !uid.ends_with(kSuffix)) continue;
    uid.remove_prefix(prefix.size());
    uid.remove_suffix(kSuffix.size());
    if (IsFileSafe(uid)) uids.emplace_back(uid);
  }
  std::ranges::sort(uids);  // Names with the suffix have another order.
  return uids;
}

Result<void> RemoveHalves(const std::string& folder) {
  for (const std::string& name : TRY(NamesIn(folder))) {
    if (name.starts_with('.') && name.ends_with(kHalf)) TRY(Remove(folder, name));
  }
  return {};
}

Result<std::optional<Spec>> ReadClaim(const std::string& folder, std::string_view vendor,
                                      std::string_view uid) {
  const std::string path = folder + "/" + ClaimFile(vendor, uid);
  const auto text = base::ReadFile(path, kBytesMax);
  if (!text && text.error().code == base::ErrorCode::kNotFound) return std::optional<Spec>();
  if (!text) return tl::unexpected(text.error());
  return TRY(Parse(*text, path));
}

}  // namespace cdi
