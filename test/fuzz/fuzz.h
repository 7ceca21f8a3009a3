// A fuzz target: a function that gets untrusted bytes.
//
// It has a CHECK for each sentence at its head that the bytes could make false. See README.md.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/check.h"

namespace fuzz {

// The bytes as choices: numbers are taken from their end, texts from their beginning.
using Input = FuzzedDataProvider;

struct Target {
  std::string_view name = {};
  void (*run)(std::string_view bytes) = nullptr;
};
// All targets, in no order.
std::vector<Target>& Targets();

struct Registration {
  explicit Registration(Target target) { Targets().push_back(target); }
};

inline Input InputOf(std::string_view bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Checks that two texts are equal, and prints them if they are not.
void CheckSame(std::string_view one, std::string_view other);

}  // namespace fuzz

// FUZZ_TARGET(json_text, bytes) { ... } defines the target json_text. Its corpus is
// corpus/json_text.
#define FUZZ_TARGET(its_name, bytes)                            \
  static void Run_##its_name(std::string_view bytes);           \
  static const fuzz::Registration kRegistration_##its_name(     \
      fuzz::Target{.name = #its_name, .run = &Run_##its_name}); \
  static void Run_##its_name(std::string_view bytes)
