// One program for all targets, since the product is instrumented and linked once:
//
//   cdom-fuzz --list                             the names of the targets
//   cdom-fuzz --target=NAME FLAG... PATH...      as libFuzzer has it; a file as PATH is run once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "test/fuzz/fuzz.h"

namespace fuzz {
namespace {

const Target* chosen = nullptr;  // By LLVMFuzzerInitialize, for the process.

// Targets that are broken on purpose, by which scripts/fuzz.sh is tested.
bool IsCanary(const Target& target) { return target.name.starts_with("canary_"); }

[[noreturn]] void List() {
  std::ranges::sort(Targets(), {}, &Target::name);
  for (const Target& target : Targets()) {
    if (!IsCanary(target)) std::printf("%s\n", target.name.data());
  }
  std::exit(EXIT_SUCCESS);
}

void Choose(std::string_view name) {
  const auto it = std::ranges::find(Targets(), name, &Target::name);
  if (it != Targets().end()) chosen = &*it;
}

}  // namespace

std::vector<Target>& Targets() {
  static std::vector<Target> targets;
  return targets;
}

void CheckSame(std::string_view one, std::string_view other) {
  if (one == other) return;
  const auto print = [](const char* which, std::string_view text) {
    std::fprintf(stderr, "%s %.*s\n", which, static_cast<int>(text.size()), text.data());
  };
  print("one:  ", one);
  print("other:", other);
  CHECK(one == other);
}

}  // namespace fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kFlag = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (word == "--list") fuzz::List();
    if (word.starts_with(kFlag)) fuzz::Choose(word.substr(kFlag.size()));
  }
  if (fuzz::chosen != nullptr) return 0;
  std::fprintf(stderr, "cdom-fuzz: give --target=NAME, of those that --list prints\n");
  std::exit(EXIT_FAILURE);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::chosen->run({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
