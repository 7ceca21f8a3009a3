// The admission policies of cdom's manifests, as predicates.
//
// Covers the policies that limit cdom's own accounts. test/e2e/policies.tsv compares the rule that
// rejects each write with a real API server, row by row.
//
// Pure. Not modelled: the policies that limit tenants; users in runs have a cluster without them.
#pragma once

#include <string>
#include <vector>

#include "pkg/json/value.h"

namespace simulation {

// The client of a write, from its token.
struct Writer {
  std::string user = {};
  // Of a token that a kubelet gave to a pod. Empty for other tokens.
  std::string node = {};
  std::string pod = {};
  std::string pod_uid = {};
};

// One write, as admission sees it.
struct Admitted {
  Writer by = {};
  std::string operation = {};  // CREATE, UPDATE, DELETE, CONNECT.
  std::string resource = {};   // Such as "pods".
  std::string subresource = {};
  std::string ns = {};
  std::string name = {};
  const json::Value& before;  // Null if it does not exist.
  const json::Value& after;
};

struct Objection {
  std::string policy = {};
  int rule = 0;  // In spec.validations, from 1.

  friend bool operator==(const Objection&, const Objection&) = default;
};

std::vector<Objection> FindObjections(const Admitted& write);
// Returns the policies that it knows.
const std::vector<std::string>& KnownPolicies();

}  // namespace simulation
