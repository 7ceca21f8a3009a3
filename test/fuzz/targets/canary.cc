// Targets that are broken on purpose: test/fuzz/fuzz_test.sh sees that scripts/fuzz.sh finds each
// of these, says so, and counts it. They are in no list and no corpus.
#include <vector>

#include "test/fuzz/fuzz.h"

// Ends the process at a word that must be searched for.
FUZZ_TARGET(canary_check, bytes) { CHECK(bytes != "cdom"); }

// Reads behind the end of what it was given.
FUZZ_TARGET(canary_overrun, bytes) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const std::size_t behind = copy.size() > 2 ? copy.size() : 0;
  if (behind > 0) CHECK(copy.data()[behind] != 7);
}

// Overflows an int.
FUZZ_TARGET(canary_overflow, bytes) {
  int bits = bytes.starts_with("7") ? 2'147'483'647 : 0;
  for (const char c : bytes) bits += c > 0 ? 1 : 0;
  CHECK(bits != -1);
}

// Does not come to an end.
FUZZ_TARGET(canary_hang, bytes) {
  volatile bool goes_on = bytes.starts_with("z");
  while (goes_on) {
  }
}
