// The predicates are asked what a real API server is asked: the rows of test/e2e/policies.tsv, of
// the objects in test/e2e/policies_objects.yaml.
#include "test/simulation/apiserver/shipped_policies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "pkg/json/value.h"
#include "pkg/yaml/document.h"
#include "test/simulation/apiserver/patch.h"

namespace simulation {
namespace {

using json::Value;

constexpr std::string_view kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";

// A file of test/e2e with the names that rows and objects use filled in.
std::string ReadFilled(const std::string& name) {
  std::ifstream file(CDOM_SOURCES "/test/e2e/" + name);
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(text.empty()) << name;
  const std::string pods = "computedomain-daemon-" + std::string(kDomain);
  // Those that begin with another's name are before it.
  const std::array<std::pair<std::string, std::string>, 6> names = {{
      {"$domain", std::string(kDomain)},
      {"$other", "5d0f6c1a-33c2-4c0e-9b57-0d8f2b7e6a44"},
      {"$pod_uid", "uid-of-" + pods + "-aaaaa"},
      {"$peer_uid", "uid-of-" + pods + "-bbbbb"},
      {"$pod", pods + "-aaaaa"},
      {"$peer", pods + "-bbbbb"},
  }};
  for (const auto& [from, to] : names) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

struct Row {
  std::string policy, rule, who, verb, path, body, expected, pattern, sentence;
};

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

// Of a path: what it names.
struct Path {
  std::string ns, resource, name, subresource;
};

Path Read(const std::string& path) {
  std::vector<std::string> parts = Split(path.substr(1), '/');
  parts.erase(parts.begin(), parts.begin() + (parts[0] == "api" ? 2 : 3));
  Path read;
  if (parts.size() > 2 && parts[0] == "namespaces") {
    read.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  parts.resize(3);
  read.resource = parts[0];
  read.name = parts[1];
  read.subresource = parts[2];
  return read;
}

class PolicyRows : public testing::Test {
 protected:
  void SetUp() override {
    for (const YAML::Node& node : YAML::Load(ReadFilled("policies_objects.yaml"))["items"]) {
      auto object = yaml::ToJson(node);
      EXPECT_TRUE(object);
      if (object) Keep(*std::move(object));
    }
    for (const std::string& line : Split(ReadFilled("policies.tsv"), '\n')) {
      if (line.empty() || line.starts_with('#')) continue;
      const auto cells = Split(line, '\t');
      ASSERT_EQ(cells.size(), 9U) << line;
      rows_.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6],
                       cells[7], cells[8]});
    }
  }

  void Keep(Value object) {
    std::string resource = object["kind"].AsString() + "s";
    std::ranges::transform(resource, resource.begin(), [](char c) { return std::tolower(c); });
    Value& meta = object["metadata"];
    meta["uid"] = "uid-of-" + meta["name"].AsString();
    const std::string ns = meta["namespace"].AsString();
    const std::string name = meta["name"].AsString();
    objects_[{resource, ns, name}] = std::move(object);
  }

  static Writer WriterOf(const std::string& who) {
    const std::string daemons =
        "system:serviceaccount:cdom-system:compute-domain-daemon-service-account";
    const std::string pod = "computedomain-daemon-" + std::string(kDomain) + "-aaaaa";
    const auto bound = [](const std::string& user, const std::string& to) {
      return Writer{.user = user, .node = "node-a", .pod = to, .pod_uid = "uid-of-" + to};
    };
    if (who == "daemon") return bound(daemons, pod);
    if (who == "misnamed") return bound(daemons, "imex-aaaaa");
    if (who == "unbound") return {.user = daemons};
    if (who == "plugin") {
      return bound("system:serviceaccount:cdom-system:cdom-kubelet-plugin", "plugin");
    }
    return {.user = who};
  }

  // The writes that a row's request would be: one, or one for each object of a collection.
  std::vector<Admitted> WritesOf(const Row& row) {
    const Path path = Read(row.path);
    const auto body = json::Parse(row.body == "-" ? "{}" : row.body);
    EXPECT_TRUE(body) << row.sentence;
    std::vector<Admitted> writes;
    const auto add = [&](const char* operation, const Value& before, Value after) {
      writes.push_back({.by = WriterOf(row.who),
                        .operation = operation,
                        .resource = path.resource,
                        .subresource = path.subresource,
                        .ns = path.ns,
                        .name = path.name,
                        .before = before,
                        .after = kept_.emplace_back(std::move(after))});
    };
    if (row.verb == "create") {
      add("CREATE", kept_.emplace_back(), *body);
      return writes;
    }
    for (const auto& [key, object] : objects_) {
      const auto& [resource, ns, name] = key;
      if (resource != path.resource || ns != path.ns) continue;
      if (!path.name.empty() && name != path.name) continue;
      if (row.verb == "delete")
        add("DELETE", object, {});
      else
        add("UPDATE", object, MergePatch(object, *body));
    }
    EXPECT_FALSE(writes.empty()) << row.sentence << ": there is no " << row.path;
    return writes;
  }

  // The rules of the row's policy that object.
  std::vector<int> ObjectionsOf(const Row& row) {
    std::vector<int> rules;
    for (const Admitted& write : WritesOf(row)) {
      for (const Objection& objection : FindObjections(write)) {
        if (objection.policy == row.policy) rules.push_back(objection.rule);
      }
    }
    return rules;
  }

  static bool IsKnown(const Row& row) {
    const auto& known = KnownPolicies();
    return std::ranges::find(known, row.policy) != known.end();
  }

  std::vector<Row> rows_;
  std::deque<Value> kept_;  // What writes refer to.
  std::map<std::array<std::string, 3>, Value> objects_;
};

TEST_F(PolicyRows, ThePredicatesObjectWhereTheApiServerDoesAndByTheSameRule) {
  std::map<std::string, int> asked;
  for (const Row& row : rows_) {
    if (!IsKnown(row)) continue;
    ++asked[row.policy];
    const std::vector<int> objections = ObjectionsOf(row);
    if (row.expected == "allow") {
      EXPECT_TRUE(objections.empty())
          << row.policy << ", " << row.sentence << ": rule " << objections.front();
    } else if (row.rule == "-") {
      EXPECT_GT(objections.size(), 1U) << row.policy << ", " << row.sentence;
    } else {
      EXPECT_EQ(objections, std::vector{std::stoi(row.rule)}) << row.policy << ", " << row.sentence;
    }
  }
  for (const std::string& policy : KnownPolicies()) EXPECT_GT(asked[policy], 20) << policy;
}

// Which policies runs go without.
TEST_F(PolicyRows, OnlyWhatBindsTenantsIsNotKnown) {
  std::set<std::string> others;
  for (const Row& row : rows_) {
    if (!IsKnown(row)) others.insert(row.policy);
  }
  EXPECT_EQ(others, (std::set<std::string>{
                        "cdom-advice", "cdom-channel-claims", "cdom-child-deletion",
                        "cdom-daemon-claims", "cdom-domain-values", "cdom-driver-namespaces",
                        "cdom-driver-pods", "cdom-driver-settings", "cdom-extended-resources",
                        "cdom-gpu-fraction", "cdom-object-sizes", "cdom-release-finalizers",
                        "cdom-resource-slices", "cdom-template-exists", "cdom-template-name",
                        "cdom-tenant-limits", "cdom-tenant-limits-claims", "cdom-unlisted-claim"}));
}

}  // namespace
}  // namespace simulation
