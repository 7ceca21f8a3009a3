#include "node/nvml/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "node/nvml/abi.h"
#include "node/nvml/devices.h"
#include "node/nvml/functions.h"
#include "node/nvml/gpu.h"
#include "pkg/base/find.h"
#include "pkg/base/open_file.h"
#include "pkg/json/utf8.h"

namespace nvml {

namespace {

namespace fs = std::filesystem;
using base::Fail, base::Result;

constexpr std::size_t kVersionMax = 32;
constexpr int kTriesMax = 20;

}  // namespace

Library::Library(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Library::~Library() = default;
Library::Library(Library&&) noexcept = default;

Result<Library> Library::Open(const std::string& path, Needs needs) {
  auto functions = std::make_unique<Functions>();
  functions->library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr) {
    const char* why = ::dlerror();
    return Fail(base::ErrorCode::kNotFound, why != nullptr ? why : path + " cannot be loaded");
  }
  if (!functions->LoadAll(needs)) {
    return base::Invalid(path + " has not all functions that are needed: the driver is too old");
  }
  TRY(functions->Check("start", functions->init(abi::kInitWithoutGpus)));
  functions->is_started = true;
  return Library(std::move(functions));
}

Result<std::string> Library::DriverVersion() const {
  std::array<char, abi::kTextMax> text = {};
  TRY(functions_->Check("version of the driver",
                        functions_->driver_version(text.data(), abi::kTextMax)));
  return json::OneLine(TextIn(text), kVersionMax);
}

Result<std::vector<Fabric>> Library::Fabrics() const {
  unsigned count = 0;
  TRY(functions_->Check("number of GPUs", functions_->count(&count)));
  std::vector<Fabric> fabrics;
  for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) {
    abi::Device gpu = nullptr;
    TRY(functions_->Check("a GPU", functions_->device(i, &gpu)));
    std::array<char, abi::kTextMax> name = {};
    TRY(functions_->Check("name of a GPU", functions_->name(gpu, name.data(), abi::kTextMax)));
    if (IsDisplay(TextIn(name))) continue;
    Fabric fabric = TRY(functions_->FabricOfGpu(gpu));
    fabric.gpu = static_cast<int>(i);
    fabrics.push_back(fabric);
  }
  return fabrics;
}

Result<Machine> Library::ReadMachine() const {
  std::string version = TRY(DriverVersion());
  Machine machine = TRY(ReadGpus(*functions_));
  machine.driver_version = std::move(version);
  return machine;
}

std::string Under(const std::string& root, const std::string& path) {
  return root == "/" ? path : root + path;
}

std::optional<std::string> ResolveIn(const std::string& root, const std::string& path) {
  const base::OpenFile folder(root, O_PATH | O_DIRECTORY);
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  int opened = -1;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    opened = static_cast<int>(::syscall(SYS_openat2, folder.fd(), path.c_str(), &how, sizeof(how)));
    // The kernel gives up on ".." in a link while anything is renamed or mounted.
    if (opened >= 0 || errno != EAGAIN) break;
  }
  const base::OpenFile file(opened);
  if (!file.is_open()) return {};
  const auto where = [](const base::OpenFile& open) {
    std::error_code error;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(open.fd()), error).string();
  };
  const std::string above = where(folder);
  const std::string found = where(file);
  if (found == above || found.empty()) return "/";
  return above == "/" ? found : found.substr(above.size());
}

std::vector<std::string> LibraryFolders(const std::string& root,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> folders;
  const auto add = [&](std::string_view folder) {
    const auto found = ResolveIn(root, std::string(folder));
    std::error_code error;
    if (found && fs::is_directory(root + *found, error) && !base::Contains(folders, *found)) {
      folders.push_back(*found);
    }
  };
  std::ranges::for_each(more, add);
  std::ranges::for_each(kLibraryFolders, add);
  return folders;
}

Result<std::string> FindLibrary(const std::string& root, const std::vector<std::string>& more) {
  for (const std::string& folder : LibraryFolders(root, more)) {
    const auto file = ResolveIn(root, (folder == "/" ? "" : folder) + "/" + kLibrary);
    std::error_code error;
    if (file && fs::is_regular_file(Under(root, *file), error)) return Under(root, *file);
  }
  return Fail(base::ErrorCode::kNotFound,
              std::string(kLibrary) + " does not exist under " + root +
                  ": install NVIDIA's driver, correct the path of its root, or name the folder "
                  "of its libraries there (NVIDIA_DRIVER_LIBRARY_PATHS)");
}

}  // namespace nvml
