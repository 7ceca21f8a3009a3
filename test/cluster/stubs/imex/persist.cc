#include "test/cluster/stubs/imex/persist.h"

#include <filesystem>
#include <fstream>

namespace standin {

std::set<int> ReadImporters(const Config& config) {
  std::ifstream file(PersistFile());
  std::string key;
  if (!(file >> key) || key != HashOfNodes(config)) return {};
  std::set<int> importers;
  for (int index = 0; file >> index;) {
    if (index >= 0 && index < static_cast<int>(config.names.size())) importers.insert(index);
  }
  return importers;
}

void NoteImporters(const Config& config, const std::set<int>& importers) {
  const std::filesystem::path path = PersistFile();
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::string next = path.string() + ".next";
  std::ofstream file(next);
  file << HashOfNodes(config) << "\n";
  for (const int index : importers) file << index << "\n";
  file.close();
  if (file) std::filesystem::rename(next, path, ignored);
}

}  // namespace standin
