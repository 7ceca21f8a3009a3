// One node and its view of a cluster, in memory, for tests.
//
// Time is virtual. Writes of the node are applied at once, as an API server would.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/cluster/nodesim/advance.h"
#include "test/cluster/nodesim/seeded_random.h"

namespace nodesim {

using std::chrono::milliseconds;

inline constexpr const char* kNodeName = "node-000";
inline constexpr const char* kCliqueId = "fabric.0";
inline constexpr const char* kDomainUid = "domain-uid";

// The objects in the API server.
struct Objects {
  std::optional<Node> node = {};
  std::map<std::string, Slice> slices = {};
  std::map<std::string, Pod> pods = {};
  std::map<std::string, Claim> claims = {};
  std::optional<Domain> domain = {};
  std::map<std::string, Clique> cliques = {};
};

class TestWorld final : public Cluster, public Addresses, public Objects {
 public:
  TestWorld();

  std::shared_ptr<const Node> GetNode(const std::string& name) const override;
  std::vector<std::shared_ptr<const Slice>> SlicesOf(const std::string& node) const override;
  std::vector<std::shared_ptr<const Pod>> PodsOf(const std::string& node) const override;
  std::shared_ptr<const Claim> GetClaim(const kube::ObjectKey& key) const override;
  std::shared_ptr<const Domain> FindDomain(const kube::Uid& uid) const override;
  std::shared_ptr<const Clique> GetClique(const kube::ObjectKey& key) const override;
  std::string Next() override { return "10.0.0." + std::to_string(++addresses_); }

  // Runs one turn of the node, and applies its writes. Returns whether there were any.
  bool Turn();
  // Runs turns and advances time to the node's next turn, until nothing happens for `span`.
  void Run(milliseconds span);
  // Runs turns until there is nothing to write now.
  void Settle();

  // ---- Actions of other clients. Each gives the object a new version.
  void Touch(Node& object);
  Pod& AddPod(const std::string& name);
  // A pod with a claim, allocated here and reserved for it.
  Pod& AddWorkload(const std::string& name);
  Pod& AddDaemon(const std::string& name, bool controller_writes);
  void AddDomain(const std::string& ns);
  void DeletePod(const std::string& name, int grace_seconds = 30);
  void RemovePod(const std::string& name);  // Removes the object at once.
  Pod& GetPod(const std::string& name) { return pods.at(name); }
  Clique& GetTheClique() { return cliques.at(std::string(kDomainUid) + "." + kCliqueId); }
  const Member* Entry();  // The node's entry in its clique. Null if none.

  // ---- Watches. Each may lag separately: its state freezes until CatchUp().
  enum class Watch : std::uint8_t { kNode, kSlice, kPod, kClaim, kDomain, kClique };
  void Lag(Watch watch);
  void CatchUp(Watch watch) { lagging_.erase(watch); }

  // State for tests. `log` describes the writes in order, without those of Leases.
  NodeState state;
  Settings settings;
  std::vector<std::string> log;
  TimePoint now{std::chrono::hours(1)};
  // Called before each write. Returns an error to fail the write; with `applied` it takes effect
  // anyway.
  struct Fault {
    base::ErrorCode code = base::ErrorCode::kUnavailable;
    bool applied = false;
  };
  std::function<std::optional<Fault>(const Action& action)> fault;

 private:
  friend struct Applier;

  std::string NewVersion() { return std::to_string(++version_); }
  base::Result<Written> Write(const Action& action);
  Pod& AddClaimingPod(const std::string& name, const Grant& grant);

  // Returns the state that the watch shows.
  const Objects& Seen(Watch watch) const { return lagging_.contains(watch) ? seen_ : *this; }

  std::set<Watch> lagging_;
  Objects seen_;  // For lagging watches.
  int version_ = 100;
  int addresses_ = 0;
  TimePoint wake_ = TimePoint::max();
  SeededRandom random_{1};
};

}  // namespace nodesim
