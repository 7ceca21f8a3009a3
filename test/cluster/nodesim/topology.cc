#include "test/cluster/nodesim/topology.h"

#include <algorithm>
#include <set>

#include "test/cluster/nodesim/seeded_random.h"

namespace nodesim {

namespace {

using base::ErrorCode;
using base::Fail;

std::string Name(const Settings& settings, int index) {
  const std::size_t width =
      std::max<std::size_t>(3, std::to_string(std::max(settings.nodes - 1, 0)).size());
  const std::string number = std::to_string(index);
  return settings.node_prefix + std::string(width - number.size(), '0') + number;
}

// Within 172.16.0.0/12. Two simulators of one cluster tell their nodes apart by the prefix.
std::string HostIp(const Settings& settings, int index) {
  SeededRandom random(0, settings.node_prefix);
  const auto base = static_cast<int>(random.Next() % 4) * 4;
  return "172." + std::to_string(16 + base + index / 62'500) + "." +
         std::to_string(index / 250 % 250) + "." + std::to_string(index % 250 + 1);
}

}  // namespace

base::Result<void> Validate(const Settings& settings) {
  constexpr int kNodesMax = 100'000;  // What the address plan has room for.
  if (settings.nodes < 1 || settings.nodes > kNodesMax) {
    return Fail(ErrorCode::kInvalid, "--nodes must be from 1 to 100000");
  }
  if (settings.no_fabric < 0 || settings.no_fabric > settings.nodes) {
    return Fail(ErrorCode::kInvalid, "--no-fabric must be from 0 to the number of --nodes");
  }
  const int with_fabric = settings.nodes - settings.no_fabric;
  if (settings.clique_size < 0) return Fail(ErrorCode::kInvalid, "--clique-size must be positive");
  if (settings.clique_size == 0 && with_fabric > 0 &&
      (settings.cliques < 1 || settings.cliques > with_fabric)) {
    return Fail(ErrorCode::kInvalid,
                "--cliques must be from 1 to the number of nodes with a fabric, " +
                    std::to_string(with_fabric));
  }
  if (settings.workers < 1) return Fail(ErrorCode::kInvalid, "--workers must be positive");
  if (settings.lease_period.count() < 1 || settings.status_period.count() < 1) {
    return Fail(ErrorCode::kInvalid, "--lease-period and --status-period must be positive");
  }
  return {};
}

std::vector<PlacedNode> PlaceNodes(const Settings& settings) {
  SeededRandom fabric(settings.seed, settings.node_prefix);
  const std::string fabric_uuid = RandomUuid(fabric);
  const int with_fabric = settings.nodes - settings.no_fabric;
  std::vector<PlacedNode> nodes;
  for (int i = 0; i < settings.nodes; ++i) {
    PlacedNode node;
    node.identity = {.index = i, .name = Name(settings, i), .host_ip = HostIp(settings, i)};
    SeededRandom machine(settings.seed, node.identity.name);
    node.identity.machine_id = RandomUuid(machine);
    std::erase(node.identity.machine_id, '-');
    if (i < with_fabric) {
      const int clique =
          settings.clique_size > 0 ? i / settings.clique_size : i * settings.cliques / with_fabric;
      node.clique_id = fabric_uuid + "." + std::to_string(clique);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

int CountCliques(const std::vector<PlacedNode>& nodes) {
  std::set<std::string> cliques;
  for (const PlacedNode& node : nodes) cliques.insert(node.clique_id);
  cliques.erase("");
  return static_cast<int>(cliques.size());
}

}  // namespace nodesim
