#include "test/simulation/apiserver/shipped_permissions.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "pkg/base/check.h"

namespace simulation {

namespace {

using Texts = std::vector<std::string>;

Texts TextsOf(const YAML::Node& list) { return list ? list.as<Texts>() : Texts(); }

std::string TextOf(const YAML::Node& text) { return text ? text.as<std::string>() : ""; }

bool Has(const Texts& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

bool Binds(const YAML::Node& binding, const YAML::Node& role, const std::string& account) {
  const YAML::Node& reference = binding["roleRef"];
  if (!reference || TextOf(reference["kind"]) != TextOf(role["kind"]) ||
      TextOf(reference["name"]) != TextOf(role["metadata"]["name"])) {
    return false;
  }
  return std::any_of(
      binding["subjects"].begin(), binding["subjects"].end(), [&](const YAML::Node& subject) {
        return TextOf(subject["kind"]) == "ServiceAccount" && TextOf(subject["name"]) == account;
      });
}

}  // namespace

ShippedPermissions::ShippedPermissions(const std::string& yaml, const std::string& account) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml);
  for (const YAML::Node& role : documents) {
    for (const YAML::Node& binding : documents) {
      if (!role["rules"] || !Binds(binding, role, account)) continue;
      for (const YAML::Node& rule : role["rules"]) {
        rules_.push_back({.ns = TextOf(binding["metadata"]["namespace"]),
                          .groups = TextsOf(rule["apiGroups"]),
                          .resources = TextsOf(rule["resources"]),
                          .names = TextsOf(rule["resourceNames"]),
                          .verbs = TextsOf(rule["verbs"])});
      }
    }
  }
}

const ShippedPermissions& ShippedPermissions::OfController() {
  static const ShippedPermissions rights = [] {
    std::ifstream file(CDOM_MANIFESTS "/base/controller-access.yaml");
    const std::string yaml{std::istreambuf_iterator<char>(file), {}};
    CHECK(!yaml.empty());
    return ShippedPermissions(yaml, "cdom-controller");
  }();
  return rights;
}

bool ShippedPermissions::Allow(const Target& target) const {
  const kube::Resource& kind = target.kind->resource;
  const std::string resource =
      target.subresource.empty() ? kind.plural : kind.plural + "/" + target.subresource;
  // A namespace lies in itself.
  const std::string& ns = target.kind->kind == Kind::kNamespace ? target.key.name : target.key.ns;
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    return (rule.ns.empty() || rule.ns == ns) && Has(rule.groups, kind.group) &&
           Has(rule.resources, resource) && Has(rule.verbs, target.verb) &&
           (rule.names.empty() || Has(rule.names, target.key.name));
  });
}

}  // namespace simulation
