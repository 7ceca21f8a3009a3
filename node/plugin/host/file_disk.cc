#include "node/plugin/host/file_disk.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "node/cdi/files.h"
#include "node/imex/names.h"
#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/check.h"
#include "pkg/base/file.h"

namespace plugin {

namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr std::size_t kTemplateMax = 64U << 10;
constexpr std::size_t kDriverSpecMax = std::size_t{4} << 20U;
constexpr int kFoldersMax = 10'000;

}  // namespace

std::optional<std::string> FileDisk::ReadDriverSpec() const {
  auto text = base::ReadFile(paths_.cdi_folder + "/" + std::string(kBaseFile), kDriverSpecMax);
  if (!text) return std::nullopt;
  return *std::move(text);
}

Result<void> FileDisk::WriteDriverSpec(const std::string& text) {
  return cdi::ReplaceFile(paths_.cdi_folder, std::string(kBaseFile), text);
}

std::string FileDisk::PathOf(const std::string& domain) const {
  CHECK(IsUid(domain));
  return paths_.folder + "/domains/" + domain;
}

Result<std::vector<std::string>> FileDisk::Folders() const {
  std::vector<std::string> domains;
  for (std::string& name : TRY(cdi::NamesIn(paths_.folder + "/domains"))) {
    if (IsUid(name) && domains.size() <= kFoldersMax) domains.push_back(std::move(name));
  }
  return domains;
}

bool FileDisk::HasFolder(const std::string& domain) const {
  const std::string path = PathOf(domain) + "/" + std::string(imex::kTemplateFile);
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(path, ignored));
}

Result<void> FileDisk::MakeFolder(const std::string& domain) {
  const std::string text =
      TRY(base::ReadFile(paths_.config_template, kTemplateMax).map_error([](base::Error error) {
        error.message += "; it comes with the plugin, --config-template says where it is";
        return error;
      }));
  const std::string path = PathOf(domain);
  TRY(dra::MakeFolders(path));
  return cdi::ReplaceFile(path, std::string(imex::kTemplateFile), text, cdi::FileAccess::kAllRead);
}

Result<void> FileDisk::RemoveFolder(const std::string& domain) {
  const std::string path = PathOf(domain);
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return base::FailedTo("remove", path, error.value());
  return {};
}

}  // namespace plugin
