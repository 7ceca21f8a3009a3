#include "node/driver/files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "node/cdi/files.h"
#include "node/nvml/library.h"
#include "pkg/base/find.h"

namespace driver {

namespace {

namespace fs = std::filesystem;

// Folders of programs below a driver's root, as in distributions.
constexpr std::array<std::string_view, 8> kProgramFolders = {
    "", "/opt/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/local/sbin"};
constexpr std::array<std::string_view, 2> kSockets = {"/run/nvidia-persistenced/socket",
                                                      "/run/nvidia-fabricmanager/socket"};
constexpr std::array<std::string_view, 3> kDeviceFolders = {"/dev", "/dev/nvidia-caps",
                                                            "/dev/nvidia-caps-imex-channels"};
constexpr std::array<std::string_view, 3> kNoDevices = {"nvidia-fs", "nvidia-nvswitch",
                                                        "nvidia-nvlink"};

// Returns the names in a folder, sorted. Empty if the folder cannot be read.
std::vector<std::string> NamesIn(const std::string& folder) {
  return cdi::NamesIn(folder).value_or(std::vector<std::string>());
}

// A library of which two folders have a name is listed once, where its file is.
void FindLibraries(const FileSearch& search, DriverFiles& files) {
  const std::string& root = search.root;
  const std::string end = ".so." + search.version;
  for (const std::string& folder : nvml::LibraryFolders(root, search.folders)) {
    const std::string path = folder == "/" ? "" : folder;
    const std::vector<std::string> names = NamesIn(nvml::Under(root, folder));
    for (const std::string& name : names) {
      if (!name.ends_with(end)) continue;
      const auto file = nvml::ResolveIn(root, path + "/" + name);
      std::error_code error;
      if (!file || !file->ends_with(end) || !fs::is_regular_file(nvml::Under(root, *file), error) ||
          base::Contains(files.libraries, *file, &DriverFiles::Library::path)) {
        continue;
      }
      DriverFiles::Library library = {.path = *file};
      const std::string stem =
          name.substr(0, name.size() - search.version.size());  // "libcuda.so."
      for (const std::string& other : names) {
        const std::string link = path + "/" + other;
        const bool may_be = other.starts_with(stem) || other + "." == stem;
        if (may_be && other != name && fs::is_symlink(nvml::Under(root, link), error) &&
            nvml::ResolveIn(root, link) == file) {
          library.names.push_back(other);
        }
      }
      files.libraries.push_back(std::move(library));
    }
  }
}

void FindPrograms(const FileSearch& search, DriverFiles& files) {
  const std::string& root = search.root;
  std::vector<std::string> programs = search.programs;
  programs.insert(programs.end(), kPrograms.begin(), kPrograms.end());
  for (const std::string& program : programs) {
    for (const std::string_view folder : kProgramFolders) {
      const std::string path = std::string(folder).append("/").append(program);
      const auto file = nvml::ResolveIn(root, path);
      std::error_code error;
      if (!file || !fs::is_regular_file(nvml::Under(root, *file), error)) continue;
      files.programs.push_back({.path = path, .file = *file});
      break;
    }
  }
}

void FindOthers(const FileSearch& search, DriverFiles& files) {
  const std::string& root = search.root;
  const std::string firmware = "/lib/firmware/nvidia/" + search.version;
  const std::string folder = nvml::ResolveIn(root, firmware).value_or(firmware);
  for (const std::string& name : NamesIn(nvml::Under(root, folder))) {
    if (!name.starts_with("gsp")) continue;
    files.others.push_back({.path = firmware + "/" + name, .file = folder + "/" + name});
  }
  for (const std::string_view socket : kSockets) {
    const auto file = nvml::ResolveIn(root, std::string(socket));
    std::error_code error;
    if (!file || !fs::is_socket(nvml::Under(root, *file), error)) continue;
    files.others.push_back({.path = std::string(socket), .file = *file});
  }
}

bool IsOfUse(std::string_view name) {
  return (name.starts_with("nvidia") || name.starts_with("channel")) &&
         std::ranges::none_of(kNoDevices, [name](auto no) { return name.starts_with(no); });
}

void FindDevices(const std::string& root, DriverFiles& files) {
  const std::string base = RootOfDevices(root);
  for (const std::string_view folder : kDeviceFolders) {
    for (const std::string& name : NamesIn(base + std::string(folder))) {
      const std::string path = std::string(folder) + "/" + name;
      struct stat info = {};
      if (!IsOfUse(name) || ::stat((base + path).c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) {
        continue;
      }
      files.devices.push_back({.path = path,
                               .host_path = path,
                               .major = static_cast<std::int64_t>(major(info.st_rdev)),
                               .minor = static_cast<std::int64_t>(minor(info.st_rdev)),
                               .mode = info.st_mode & 0777U});
    }
  }
}

bool IsGpu(std::string_view name) {
  constexpr std::string_view kGpu = "nvidia";
  return name.starts_with(kGpu) && name.find_first_of("0123456789") == kGpu.size();
}

std::string FolderOf(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

// `folders` are those of the libraries.
void AddHooks(const DriverFiles& files, const std::set<std::string>& folders,
              const EditsOptions& options, cdi::Edits& edits) {
  std::vector<std::string> links;
  for (const DriverFiles::Library& library : files.libraries) {
    const std::string file = library.path.substr(library.path.rfind('/') + 1);
    for (const std::string& name : library.names) {
      links.insert(links.end(), {"--link", file + "::" + FolderOf(library.path) + "/" + name});
    }
  }
  const auto add = [&](const char* what, const std::vector<std::string>& arguments) {
    cdi::Hook hook = {.name = "createContainer",
                      .path = options.hook,
                      .args = {"nvidia-cdi-hook", what},
                      .env = {"NVIDIA_CTK_DEBUG=false"}};
    hook.args.insert(hook.args.end(), arguments.begin(), arguments.end());
    edits.hooks.push_back(std::move(hook));
  };
  if (!links.empty()) add("create-symlinks", links);
  add("enable-cuda-compat", {"--host-driver-version=" + options.driver_version});
  std::vector<std::string> arguments;
  for (const std::string& folder : folders) {
    arguments.insert(arguments.end(), {"--folder", folder});
  }
  if (!arguments.empty()) add("update-ldcache", arguments);
  add("disable-device-node-modification", {});
}

}  // namespace

std::string RootOfDevices(const std::string& root) {
  std::error_code error;
  return fs::is_directory(root + "/dev", error) ? root : "";
}

DriverFiles FindDriverFiles(const FileSearch& search) {
  DriverFiles files;
  FindLibraries(search, files);
  FindPrograms(search, files);
  FindOthers(search, files);
  FindDevices(nvml::Under(search.root, ""), files);
  return files;
}

std::string LibrariesTrouble(const DriverFiles& files, const std::string& root,
                             const std::string& version) {
  if (!files.libraries.empty()) return {};
  return "no library of NVIDIA's driver " + version + ", such as libcuda.so." + version +
         ", is under its root " + root + ": name their folder there (NVIDIA_DRIVER_LIBRARY_PATHS)";
}

std::string ProgramPath() {
  std::string path;
  for (const std::string_view folder : kProgramFolders) {
    path += (path.empty() ? "" : ":") + std::string(folder) + (folder.empty() ? "/" : "");
  }
  return path;
}

int CountGpus(const DriverFiles& files) {
  constexpr std::string_view kFolder = "/dev/";
  return static_cast<int>(std::ranges::count_if(files.devices, [&](const cdi::DeviceNode& node) {
    return node.path.starts_with(kFolder) &&
           IsGpu(std::string_view(node.path).substr(kFolder.size()));
  }));
}

std::vector<std::string> FindGpus(const std::string& root) {
  std::vector<std::string> names = NamesIn(RootOfDevices(root) + "/dev");
  std::erase_if(names, [](const std::string& name) { return !IsGpu(name); });
  return names;
}

cdi::Edits EditsOf(const DriverFiles& files, const EditsOptions& options) {
  const std::string root = options.host_root == "/" ? "" : options.host_root;
  cdi::Edits edits;
  const auto mount = [&](const std::string& from, const std::string& to) {
    edits.mounts.push_back({.host_path = root + from,
                            .container_path = to,
                            .options = {"ro", "nosuid", "nodev", "rbind", "rprivate"}});
  };
  std::set<std::string> folders;
  for (const DriverFiles::Library& library : files.libraries) {
    mount(library.path, library.path);
    folders.insert(FolderOf(library.path));
    if (!options.hook.empty()) continue;
    for (const std::string& name : library.names) {
      mount(library.path, FolderOf(library.path) + "/" + name);
    }
  }
  for (const DriverFiles::File& program : files.programs) mount(program.file, program.path);
  for (const DriverFiles::File& other : files.others) mount(other.file, other.path);
  if (!options.hook.empty()) {
    AddHooks(files, folders, options, edits);
    for (const DriverFiles::Library& library : files.libraries) {
      if (library.path.find("/libcuda.so.") == std::string::npos) continue;
      // The hook for compatibility finds the library by this variable.
      edits.env.push_back("NVIDIA_CTK_LIBCUDA_DIR=" + FolderOf(library.path));
      break;
    }
  } else if (!folders.empty()) {
    std::string search;
    for (const std::string& folder : folders) search += (search.empty() ? "" : ":") + folder;
    edits.env.push_back("LD_LIBRARY_PATH=" + search);
  }
  return edits;
}

}  // namespace driver
