#include "node/plugin/host/domain_dirs.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "node/cdi/files.h"
#include "node/imex/names.h"
#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/check.h"
#include "pkg/base/file.h"
#include "pkg/base/open_file.h"

namespace plugin {

namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr std::size_t kTemplateMax = 64U << 10;
constexpr std::size_t kProgramMax = 64U << 20;
constexpr int kFoldersMax = 10'000;

std::string PathOf(const std::string& folder, const std::string& domain) {
  CHECK(IsUid(domain));
  return folder + "/domains/" + domain;
}

}  // namespace

Result<void> MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::FailedTo("make folder", folder, error.value());
  return {};
}

Result<std::vector<std::string>> DomainFolders(const std::string& folder) {
  std::vector<std::string> domains;
  TRY(cdi::ForEachName(folder + "/domains", [&domains](const std::string& name) {
    if (IsUid(name) && domains.size() <= kFoldersMax) domains.push_back(name);
  }));
  std::ranges::sort(domains);
  return domains;
}

bool HasDomainFolder(const std::string& folder, const std::string& domain) {
  const std::string path = PathOf(folder, domain) + "/" + std::string(imex::kTemplateFile);
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<void> MakeDomainFolder(const std::string& folder, const std::string& domain,
                              const std::string& config_template) {
  const std::string text =
      TRY(base::ReadFile(config_template, kTemplateMax).map_error([](base::Error error) {
        error.message += "; it comes with the plugin, --config-template says where it is";
        return error;
      }));
  const std::string path = PathOf(folder, domain);
  TRY(MakeFolder(path));
  return cdi::ReplaceFile(path, std::string(imex::kTemplateFile), text, cdi::FileAccess::kAllRead);
}

Result<void> RemoveDomainFolder(const std::string& folder, const std::string& domain) {
  const std::string path = PathOf(folder, domain);
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return base::FailedTo("remove", path, error.value());
  return {};
}

Result<std::string> CopyProgram(const std::string& folder, const std::string& program) {
  const std::string content = TRY(base::ReadFile(program, kProgramMax));
  const std::string name = fs::path(program).filename().string();
  TRY(cdi::ReplaceFile(folder, name, content, cdi::FileAccess::kAllRun));
  return folder + "/" + name;
}

}  // namespace plugin
