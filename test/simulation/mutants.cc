#include "test/simulation/mutants.h"

#include <algorithm>

namespace simulation {

namespace {

using compute_domain::Action;
using compute_domain::kRules;
using compute_domain::Observed;
using compute_domain::Rules;

Rules WithoutFinalizer() {
  Rules rules = kRules;
  rules.admit = [](const Observed&) -> std::optional<Action> { return {}; };
  return rules;
}

// What the cache does not show is taken to be gone (against R2).
Rules TrustingTheCacheForOwners() {
  Rules rules = kRules;
  rules.prove = [](const Observed& observed) {
    return observed.domain ? kRules.prove(observed) : std::vector<Action>();
  };
  return rules;
}

// One role is forgotten when all is taken down (against R1).
Rules ForgettingTheDaemonTemplate() {
  Rules rules = kRules;
  rules.tear_down = [](const Observed& observed, const compute_domain::Children& children) {
    auto actions = kRules.tear_down(observed, children);
    std::erase_if(actions, [](const Action& action) {
      const auto* remove = std::get_if<compute_domain::Delete>(&action);
      return remove != nullptr && remove->kind == compute_domain::Kind::kClaimTemplate;
    });
    return actions;
  };
  return rules;
}

}  // namespace

const std::vector<Mutant>& Mutants() {
  static const std::vector<Mutant> mutants = {
      {"children-without-finalizer", "S8", WithoutFinalizer()},
      {"absence-in-the-cache-is-proof", "S7", TrustingTheCacheForOwners()},
      {"tear-down-forgets-a-role", "L2", ForgettingTheDaemonTemplate()},
  };
  return mutants;
}

const compute_domain::Rules* RulesOf(const std::string& mutant) {
  if (mutant.empty()) return &kRules;
  const auto it = std::ranges::find(Mutants(), mutant, &Mutant::name);
  return it == Mutants().end() ? nullptr : &it->rules;
}

}  // namespace simulation
