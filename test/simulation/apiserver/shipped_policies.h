// What the policies of our manifests object to, as predicates: those that bind an account of ours
// to its work. Which rule objects is held to what a real API server says, row by row of
// test/e2e/policies.tsv.
//
// Pure. Not modelled: the policies that bind tenants; users in runs are those of a cluster without
// them.
#pragma once

#include <string>
#include <vector>

#include "pkg/json/value.h"

namespace simulation {

// The client of a write, as its token says.
struct Writer {
  std::string user = {};
  // Of a token that a kubelet gave to a pod; else empty.
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
  const json::Value& before;  // null: there is none.
  const json::Value& after;
};

struct Objection {
  std::string policy = {};
  int rule = 0;  // In spec.validations, from 1.

  friend bool operator==(const Objection&, const Objection&) = default;
};

[[nodiscard]] std::vector<Objection> FindObjections(const Admitted& write);
// The policies that it knows.
[[nodiscard]] const std::vector<std::string>& KnownPolicies();

}  // namespace simulation
