// Passes over a domain whose objects hold what nobody meant, against a server that takes what is
// written (S6):
//  - they come to rest: once nothing changes any more, nothing is written any more, ever, unless
//  the
//    server refuses it and the pass says why (a name that another object has is tried again);
//  - no pass is too long, whatever it reads.
#include "test/fuzz/worlds.h"

namespace {

constexpr std::chrono::minutes kLong{20};  // After which every wait of ours is over.

// Passes, with the cache seeing all that they wrote; how many wrote something for which they had no
// error to tell, or changed something.
int Pass(fixtures::PassWorld& world, int times, std::chrono::nanoseconds pause) {
  constexpr std::size_t kRequestsMax = 200;
  int wrote = 0;
  for (int i = 0; i < times; ++i) {
    world.clock.Advance(pause);
    world.server.ShowAll(world.cache);
    const std::uint64_t before = world.server.version();
    const bool failed = world.Run().error.has_value();
    CHECK(world.server.lines().size() <= kRequestsMax);
    const bool tried = !failed && !world.Writes().empty();
    wrote += tried || world.server.version() != before ? 1 : 0;
  }
  return wrote;
}

}  // namespace

FUZZ_TARGET(passes, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const compute_domain::Observed observed = fuzz::AnyWorld(input);
  fixtures::PassWorld world(observed, /*cache_sees_it=*/false);
  for (fixtures::Stored& stored : fixtures::StoreAll(observed)) {
    fuzz::SpoilContent(input, stored.object);
    world.server.Put(std::move(stored));
  }
  Pass(world, 6, std::chrono::seconds(1));
  Pass(world, 3, kLong);
  CHECK(Pass(world, 2, std::chrono::seconds(5)) == 0);
}
