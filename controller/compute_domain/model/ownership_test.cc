#include "controller/compute_domain/model/ownership.h"

#include <gtest/gtest.h>

#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

TEST(IsElsewhere, REV4_K8_ADriverNamespaceThatWasReadAndHasNothingOfTheDomain) {
  Observed observed = fixtures::Converged();
  observed.facts.settings.Edit().driver_namespaces = {fixtures::kDriverNs, fixtures::kOldDriverNs};
  EXPECT_TRUE(IsElsewhere(observed, fixtures::kOldDriverNs));
  EXPECT_FALSE(IsElsewhere(observed, fixtures::kDriverNs)) << "it is cdom's own";
  EXPECT_FALSE(IsElsewhere(observed, fixtures::kUserNs));
  EXPECT_FALSE(IsElsewhere(observed, "")) << "of all namespaces";
  observed.facts.views.unknown_namespaces = {fixtures::kOldDriverNs};
  EXPECT_FALSE(IsElsewhere(observed, fixtures::kOldDriverNs)) << "it was never read";
  observed.facts.views.unknown_namespaces.clear();
  observed.children.cliques[0].meta.key.ns = fixtures::kOldDriverNs;
  EXPECT_FALSE(IsElsewhere(observed, fixtures::kOldDriverNs));
}

}  // namespace
}  // namespace compute_domain
