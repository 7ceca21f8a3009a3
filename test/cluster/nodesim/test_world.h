// One node and the part of a cluster that it sees, in memory and virtual time, for the tests. What
// the node writes is applied at once, as an API server would.
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

// What the API server has.
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

  [[nodiscard]] std::shared_ptr<const Node> GetNode(const std::string& name) const override;
  [[nodiscard]] std::vector<std::shared_ptr<const Slice>> SlicesOf(
      const std::string& node) const override;
  [[nodiscard]] std::vector<std::shared_ptr<const Pod>> PodsOf(
      const std::string& node) const override;
  [[nodiscard]] std::shared_ptr<const Claim> GetClaim(const kube::ObjectKey& key) const override;
  [[nodiscard]] std::shared_ptr<const Domain> FindDomain(const kube::Uid& uid) const override;
  [[nodiscard]] std::shared_ptr<const Clique> GetClique(const kube::ObjectKey& key) const override;
  [[nodiscard]] std::string Next() override { return "10.0.0." + std::to_string(++addresses_); }

  // One look at the node; what it decides is applied. Says whether it wrote anything.
  bool Turn();
  // Turns, with time going on to whatever the node waits for, until nothing happens for `span`.
  void Run(milliseconds span);
  // Turns until nothing is left to write now.
  void Settle();

  // ---- What others do. Each change gives the object a new version.
  void Touch(Node& object);
  Pod& AddPod(const std::string& name);
  // A pod with a claim, allocated here and reserved for it.
  Pod& AddWorkload(const std::string& name);
  Pod& AddDaemon(const std::string& name, bool controller_writes);
  void AddDomain(const std::string& ns);
  void DeletePod(const std::string& name, int grace_seconds = 30);
  void RemovePod(const std::string& name);  // Its object goes at once.
  Pod& GetPod(const std::string& name) { return pods.at(name); }
  Clique& GetTheClique() { return cliques.at(std::string(kDomainUid) + "." + kCliqueId); }
  const Member* Entry();  // That of the node in its clique; null without one.

  // ---- Each watch may lag behind by itself: what it shows stays as it is until it catches up.
  enum class Watch : std::uint8_t { kNode, kSlice, kPod, kClaim, kDomain, kClique };
  void Lag(Watch watch);
  void CatchUp(Watch watch) { lagging_.erase(watch); }

  // What a test looks at. `log` describes the writes in order, but for Leases.
  NodeState state;
  Settings settings;
  std::vector<std::string> log;
  TimePoint now{std::chrono::hours(1)};
  // Asked before each write: its error, if it is to fail. `applied`: it takes effect all the same.
  struct Fault {
    base::ErrorCode code = base::ErrorCode::kUnavailable;
    bool applied = false;
  };
  std::function<std::optional<Fault>(const Action& action)> fault;

 private:
  friend struct Applier;

  [[nodiscard]] std::string NewVersion() { return std::to_string(++version_); }
  [[nodiscard]] base::Result<Written> Write(const Action& action);
  [[nodiscard]] Pod& AddClaimingPod(const std::string& name, const Grant& grant);

  // What the watch shows.
  [[nodiscard]] const Objects& Seen(Watch watch) const {
    return lagging_.contains(watch) ? seen_ : *this;
  }

  std::set<Watch> lagging_;
  Objects seen_;  // Of those that lag.
  int version_ = 100;
  int addresses_ = 0;
  TimePoint wake_ = TimePoint::max();
  SeededRandom random_{1};
};

}  // namespace nodesim
