#include "test/cluster/stubs/nvml/world.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "test/cluster/stubs/nvml/public_header.h"

namespace stand_in {

namespace {

namespace header = nvml_header;

struct World {
  Fields driver = {};
  std::deque<Gpu> gpus = {};
  std::deque<Device> handles = {};  // The GPUs, in their order, then instances.
};

// By which a changed file is known.
using FileState = std::tuple<std::string, std::int64_t, std::int64_t, std::uint64_t, std::int64_t>;

struct State {
  // The last one is the present one. Handles of older ones stay valid, as those of a lost GPU do.
  std::deque<World> worlds = {};
  FileState file = {};
  int starts = 0;  // That are not ended.
};

State& TheState() {
  static State state;
  return state;
}

World& Now() { return TheState().worlds.back(); }

FileState StateOf(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return {path, -1, 0, 0, 0};
  return {path, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ino, info.st_size};
}

std::map<std::string, std::string> FieldsIn(std::istringstream& words) {
  std::map<std::string, std::string> fields;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    for (char& c : value) c = c == '_' ? ' ' : c;
    fields[word.substr(0, equals)] = value;
  }
  return fields;
}

void AddGpu(World& world, Fields fields) {
  Gpu gpu = {.fields = std::move(fields)};
  char comma = 0;
  std::istringstream fabric(gpu.fields.Text("fabric", ""));
  fabric >> gpu.state >> comma >> gpu.status >> comma >> gpu.cluster >> comma >> gpu.clique;
  if (!gpu.fields.Has("fabric")) gpu.fabric_code = header::kErrorNotSupported;
  world.gpus.push_back(std::move(gpu));
}

void ReadFile(const std::string& path, World& world) {
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    if (!(words >> kind) || kind[0] == '#') continue;
    const Fields fields(FieldsIn(words));
    if (kind == "driver") world.driver = fields;
    if (kind == "gpu") AddGpu(world, fields);
    if (world.gpus.empty()) continue;
    Gpu& gpu = world.gpus.back();
    if (kind == "profile") gpu.profiles.push_back(fields);
    if (kind == "instance") gpu.instances.push_back({.fields = fields, .gpu = &gpu});
  }
}

// One word for each GPU: see stand_in.cc. Other data of a GPU is made from its number.
void ReadEnvironment(World& world) {
  std::istringstream words(Setting("STAND_IN_NVML_GPUS"));
  for (std::string word; words >> word;) {
    const std::string number = std::to_string(world.gpus.size());
    std::istringstream fields(word);
    std::string name;
    std::getline(fields, name, ',');
    for (char& c : name) c = c == '_' ? ' ' : c;
    Gpu gpu = {.fields = Fields({{"name", name}, {"minor", number}, {"uuid", "GPU-" + number}})};
    char comma = 0;
    fields >> gpu.fabric_code >> comma >> gpu.state >> comma >> gpu.status >> comma >>
        gpu.cluster >> comma >> gpu.clique;
    world.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

std::string Fields::Text(const std::string& key, const std::string& otherwise) const {
  const auto found = values_.find(key);
  return found != values_.end() ? found->second : otherwise;
}

std::uint64_t Fields::Number(const std::string& key, std::uint64_t otherwise) const {
  return Has(key) ? std::strtoull(Text(key, "").c_str(), nullptr, 0) : otherwise;
}

int Fields::CodeOf(const std::string& thing) const {
  return static_cast<int>(Number("fail." + thing, Number("fail", header::kSuccess)));
}

std::string Setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void Read(bool is_start) {
  State& state = TheState();
  const std::string path = Setting("STAND_IN_NVML_FILE");
  const FileState file = path.empty() ? FileState() : StateOf(path);
  // The environment counts when the library is started, as it always did.
  if (!state.worlds.empty() && (path.empty() ? !is_start : file == state.file)) return;
  World& world = state.worlds.emplace_back();
  state.file = file;
  if (path.empty()) {
    ReadEnvironment(world);
  } else {
    ReadFile(path, world);
  }
  for (Gpu& gpu : world.gpus) world.handles.push_back({.gpu = &gpu});
  for (Gpu& gpu : world.gpus) {
    for (Instance& instance : gpu.instances) {
      world.handles.push_back({.gpu = &gpu, .instance = &instance});
    }
  }
}

void Start() { ++TheState().starts; }
void Stop() { TheState().starts -= IsStarted() ? 1 : 0; }
bool IsStarted() { return TheState().starts > 0; }

const Fields& Driver() { return Now().driver; }

std::size_t GpuCount() { return Now().gpus.size(); }

Device* HandleOf(std::size_t index) {
  World& world = Now();
  return index < world.gpus.size() ? &world.handles[index] : nullptr;
}

Device* HandleOf(const Device& gpu, unsigned index) {
  for (World& world : TheState().worlds) {
    for (Device& handle : world.handles) {
      if (handle.gpu == gpu.gpu && handle.instance != nullptr &&
          handle.instance->fields.Number("index", 0) == index) {
        return &handle;
      }
    }
  }
  return nullptr;
}

}  // namespace stand_in
