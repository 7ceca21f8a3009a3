#include "pkg/base/system_random.h"

namespace base {
namespace {

std::mt19937_64 SeededEngine() {
  std::random_device device;
  std::seed_seq seed = {device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

}  // namespace

SystemRandom::SystemRandom() : engine_(SeededEngine()) {}

}  // namespace base
