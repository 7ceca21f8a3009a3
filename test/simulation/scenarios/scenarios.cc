#include "test/simulation/scenarios/scenarios.h"

#include <algorithm>
#include <functional>

#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/scenarios/world.h"

namespace simulation {

namespace {

using json::Value;
using Nodes = std::vector<std::string>;

const DomainName kJob = {.key = {.ns = "train", .name = "job"}, .template_name = "job-channel"};
// Another domain: beside it in its namespace, and in a namespace of its own.
const DomainName kTwin = {.key = {.ns = "train", .name = "twin"}, .template_name = "twin-channel"};
const DomainName kOther = {.key = {.ns = "lab", .name = "other"}, .template_name = "channel"};

// Two nodes of one clique, one of another, one without fabric.
const std::vector<std::pair<std::string, std::string>> kFourNodes = {
    {"node-a", "c1.0"}, {"node-b", "c1.0"}, {"node-c", "c2.0"}, {"node-d", ""}};
const Nodes kAll = {"node-a", "node-b", "node-c", "node-d"};

Workload& Form(World& world, Nodes nodes) {
  world.CreateDomain(kJob);
  Workload& job = world.StartJob("pods", kJob, std::move(nodes));
  world.Rest("the domain forms");
  return job;
}

void CreateReadyDelete(World& world) {
  Workload& job = Form(world, kAll);
  job.Finish();
  world.RunToRest("the workload ends");
}

void DeleteWhileForming(World& world) {
  world.CreateDomain(kJob);
  Workload& job = world.StartJob("pods", kJob, kAll);
  // A node is reserved for the domain, and no daemon runs yet.
  world.RunUntil("a node is labelled", [](const World& now) {
    return std::ranges::any_of(now.All(Kind::kNode), [](const auto& node) {
      return !node.second->Label(kDomainLabel).empty();
    });
  });
  world.UserDeletes(kJob);
  world.Rest("the deletion waits for the job");
  job.Finish();
  world.Rest("the job ends");
}

void RecreateSameName(World& world) {
  Workload& job = Form(world, kAll);
  job.Finish();
  world.UserRecreates(kJob);
  world.Rest("the second domain forms");
}

void TwoDomainsInTurn(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-d"});
  job.Finish();
  world.Rest("the first job ends");
  world.CreateDomain(kOther);
  Workload& next = world.StartJob("next", kOther, {"node-a", "node-b", "node-d"});
  world.Rest("the second domain takes the nodes over");
  next.Finish();
  world.Rest("the second job ends");
}

bool IsLabelled(const World& world, const std::string& node) {
  const ObjectPtr found = world.Get(Kind::kNode, {.name = node});
  return found && !found->Label(kDomainLabel).empty();
}

void CompeteForANode(World& world, const std::function<void()>& before_the_rival) {
  world.CreateDomain(kJob);
  world.CreateDomain(kOther);
  Workload& job = world.StartJob("pods", kJob, {"node-a", "node-b"});
  before_the_rival();
  Workload& rival = world.StartJob("rival", kOther, {"node-b", "node-c"});
  world.Rest("one of them gets the node");
  job.Finish();
  world.Rest("the other gets the node");
  rival.Finish();
  world.Rest("the other ends");
}

void TwoDomainsCompete(World& world) {
  CompeteForANode(world, [] {});
}

// The scheduler comes to the rival's pods first, unless something held these up.
void TheRivalComesSecond(World& world) {
  CompeteForANode(world, [&] {
    world.RunUntil("it has the node", [](const World& now) { return IsLabelled(now, "node-b"); });
  });
}

void JoinLeaveRejoin(World& world) {
  Workload& job = Form(world, {"node-b"});
  Workload& more = world.StartJob("more", kJob, {"node-a", "node-c", "node-d"});
  world.Rest("nodes join");
  job.Finish();
  world.Rest("a node leaves");
  Workload& again = world.StartJob("again", kJob, {"node-b"});
  world.Rest("it joins again");
  more.Finish();
  again.Finish();
  world.Rest("all leave");
}

void MoveToAnotherRack(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-c"});
  world.cluster().FailNode("node-a");
  world.Rest("the node is carried away");
  world.cluster().agent("node-a").MoveTo("c2.0");
  world.cluster().RecoverNode("node-a", true);
  world.Rest("it comes back in another rack");
  job.Finish();
  world.Rest("the workload ends");
}

ObjectPtr FindDaemonPod(const World& world, const std::string& node) {
  for (const auto& [key, pod] : world.All(Kind::kPod)) {
    const bool is_daemon = key.ns == kDriverNamespace && !pod->deleting();
    if (is_daemon && TargetNode(*pod) == node) return pod;
  }
  return nullptr;
}

// By hand, as under the update strategy OnDelete; then by the controller, for a new image: not
// before the user allows it, since a job runs.
void ReplaceDaemons(World& world) {
  Workload& job = Form(world, kAll);
  for (const std::string& node : kAll) {
    if (const ObjectPtr pod = FindDaemonPod(world, node)) {
      world.UserDeletes(Kind::kPod, pod->key());
    }
    world.Rest("the daemon of " + node + " is replaced");
  }
  for (const auto& [key, set] : Objects(world.All(Kind::kDaemonSet))) {
    world.UserEdits(Kind::kDaemonSet, key, [](Value& edited) {
      edited["spec"]["updateStrategy"] = Value::Object({{"type", "RollingUpdate"}});
    });
    world.Rest("a user wants all daemons replaced whenever the template changes");
    world.UserEdits(Kind::kDaemonSet, key, [](Value& edited) {
      Value& containers = edited["spec"]["template"]["spec"]["containers"];
      for (Value& container : containers.MutableItems()) container["image"] = "theirs";
    });
  }
  world.Rest("a user has edited the DaemonSet");
  world.UpgradeController("cdom:2");
  world.Rest("the daemons of a job stay");
  world.UserEdits(Kind::kComputeDomain, kJob.key, [](Value& domain) {
    domain["metadata"]["annotations"][kDaemonRollAnnotation] = "Always";
  });
  world.Rest("the controller replaces them all");
  job.Finish();
  world.RunToRest("the workload ends");
}

void DeleteNamespace(World& world) {
  world.CreateDomain(kJob);
  world.CreateDomain(kTwin);
  world.StartJob("pods", kJob, {"node-a", "node-b"});
  world.StartJob("more", kTwin, {"node-c"});
  world.Rest("both domains form");
  world.UserDeletes(Kind::kNamespace, {.name = kJob.key.ns});
  world.Rest("the namespace goes");
  if (world.Get(Kind::kNamespace, {.name = kJob.key.ns})) {
    world.Say("L2: the namespace is still there");
  }
}

void DeleteChildren(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-d"});
  const auto remove = [&](Kind kind, const kube::ObjectKey& key) {
    world.UserDeletes(kind, key);
    world.Rest("the user has deleted " + Describe(kind).resource.kind + " " + key.name);
  };
  const auto daemon_key = [&] {
    const ObjectPtr domain = world.Get(Kind::kComputeDomain, kJob.key);
    return kube::ObjectKey{.ns = std::string(kDriverNamespace),
                           .name = DaemonName(domain ? domain->uid() : "none")};
  };
  remove(Kind::kClaimTemplate, {.ns = kJob.key.ns, .name = kJob.template_name});
  remove(Kind::kClaimTemplate, daemon_key());
  for (const auto& [key, clique] : Objects(world.All(Kind::kClique))) remove(Kind::kClique, key);
  remove(Kind::kDaemonSet, daemon_key());

  const ObjectPtr node = world.Get(Kind::kNode, {.name = "node-b"});
  const std::string label = node->Label(kDomainLabel);
  world.UserLabelsNode("node-b", "");
  world.Rest("the user has taken a label off");
  // Only of a live domain: else no controller would remove it.
  if (const ObjectPtr domain = world.Get(Kind::kComputeDomain, kJob.key);
      domain && domain->uid() == label) {
    world.UserLabelsNode("node-b", label);
  }
  world.Rest("the user has put it on again");
  job.Finish();
  world.Rest("the workload ends");
}

// kubectl delete daemonset --cascade=orphan under a job. The daemons run on, and the next DaemonSet
// adopts them.
void OrphanDaemons(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-d"});
  const ObjectPtr domain = world.Get(Kind::kComputeDomain, kJob.key);
  const kube::ObjectKey key = {.ns = std::string(kDriverNamespace),
                               .name = DaemonName(domain ? domain->uid() : "none")};
  (void)world.cluster().store().Delete("user", Kind::kDaemonSet, key, {.propagation = "Orphan"});
  world.Rest("the DaemonSet is back");
  job.Finish();
  world.Rest("the workload ends");
}

// A release before this one made the DaemonSet, which records no node names, and a job begins
// before this one runs. The names change once no daemon is left.
void NamesOfBefore(World& world) {
  world.CreateDomain(kJob);
  world.Rest("the domain exists");
  Workload* first = nullptr;
  world.RunWithoutController([&] {
    for (const auto& [key, set] : Objects(world.All(Kind::kDaemonSet))) {
      world.UserEdits(Kind::kDaemonSet, key, [](Value& edited) {
        const std::int64_t generation = edited["metadata"]["generation"].AsInt().value_or(0);
        Value& pod = edited["spec"]["template"];
        Value& container = pod["spec"]["containers"].MutableItems().front();
        std::erase_if(container["env"].MutableItems(), [](const Value& variable) {
          return variable["name"].AsString() == "IMEX_NODE_NAMES";
        });
        pod["metadata"]["annotations"].Erase("cdom.dev/imex-node-names");
        pod["metadata"]["annotations"][kTemplateHashAnnotation] = "before";
        edited["metadata"]["annotations"][kTemplateHashAnnotation] =
            "before:" + std::to_string(generation + 1);
      });
    }
    first = &world.StartJob("first", kJob, {"node-a"});
    world.RunFor(std::chrono::minutes(2));
  });
  world.Rest("another process takes over");
  Workload& second = world.StartJob("second", kJob, {"node-b"});
  world.Rest("a node joins");
  first->Finish();
  second.Finish();
  world.Rest("both jobs end");
  Workload& last = world.StartJob("last", kJob, {"node-a", "node-b"});
  world.Rest("another job runs");
  last.Finish();
  world.Rest("it ends");
}

// As a policy engine and the controller do that disagree.
void RepairsUndone(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-d"});
  world.UndoRepairs(true);
  world.RunFor(std::chrono::minutes(3));
  world.UndoRepairs(false);
  world.RunFor(std::chrono::minutes(4));  // The condition ends two minutes after the last repair.
  world.Rest("the last repair stays");
  job.Finish();
  world.Rest("the workload ends");
}

// Root on a node gives it the label of a domain that no pod of which is there: once while the job
// runs, and once more.
void LiarOnANode(World& world) {
  Workload& job = Form(world, {"node-a"});
  for (int i = 0; i < 2; ++i) {
    const ObjectPtr domain = world.Get(Kind::kComputeDomain, kJob.key);
    if (domain && !domain->deleting()) world.UserLabelsNode("node-b", domain->uid());
    world.Rest("a node lies");
  }
  job.Finish();
  world.Rest("the job ends");
}

void TemplateNameTaken(World& world) {
  const kube::ObjectKey taken = {.ns = kJob.key.ns, .name = kJob.template_name};
  world.UserCreates(Kind::kClaimTemplate, taken.ns, ForeignTemplateObject(taken.name));
  world.CreateDomain(kJob);
  const auto says_so = [](const World& now) {
    const ObjectPtr domain = now.Get(Kind::kComputeDomain, kJob.key);
    return !domain ||
           FindCondition(domain->value(), "Ready")["reason"].AsString() == "TemplateNameTaken";
  };
  world.RunUntil("the domain says so", says_so);
  // The controller never comes to rest: nothing would show it that the name is free.
  world.RunFor(std::chrono::minutes(2));
  world.RunUntil("the domain still says so", says_so);
  world.CheckRest();
  world.UserDeletes(Kind::kClaimTemplate, taken);
  world.RunUntil("the name is free", [&](const World& now) {
    return now.Get(Kind::kClaimTemplate, taken) || !now.Get(Kind::kComputeDomain, kJob.key);
  });
  if (const ObjectPtr domain = world.Get(Kind::kComputeDomain, kJob.key)) {
    // A user labels a template of their own as the domain's.
    Value forged = WorkloadTemplateObject(domain->uid(), kJob.key.name, "forged");
    forged["metadata"].Erase("ownerReferences");
    world.UserCreates(Kind::kClaimTemplate, kJob.key.ns, std::move(forged));
  }
  Workload& job = world.StartJob("pods", kJob, {"node-a", "node-b"});
  world.Rest("the domain forms");
  job.Finish();
  world.Rest("the workload ends");
}

// A quota leaves room for no template, and is raised.
void QuotaExhausted(World& world) {
  world.SetQuota(kJob.key.ns, 0);
  world.CreateDomain(kJob);
  const auto says_so = [](const World& now) {
    const ObjectPtr domain = now.Get(Kind::kComputeDomain, kJob.key);
    if (!domain) return true;
    const Value& ready = FindCondition(domain->value(), "Ready");
    return ready["status"].AsString() == "False" &&
           ready["message"].AsString().find("exceeded quota") != std::string::npos;
  };
  world.RunUntil("the domain says so", says_so);
  // It never comes to rest either: nothing shows that there is room.
  world.RunFor(std::chrono::minutes(2));
  world.RunUntil("the domain still says so", says_so);
  world.CheckRest();
  world.SetQuota(kJob.key.ns, 1);
  Workload& job = world.StartJob("pods", kJob, {"node-a", "node-b"});
  world.Rest("the domain forms");
  world.UserDeletes(Kind::kClaimTemplate, {.ns = kJob.key.ns, .name = kJob.template_name});
  world.Rest("its template is made again");
  world.SetQuota(kJob.key.ns, {});
  job.Finish();
  world.Rest("the workload ends");
}

const std::vector<std::pair<std::string, std::string>> kOneClique = {
    {"node-a", "c1.0"}, {"node-b", "c1.0"}, {"node-c", "c1.0"}};

void RejoinClique(World& world) {
  Workload& job = Form(world, {"node-b"});
  Workload& first = world.StartJob("first", kJob, {"node-a"});
  world.Rest("two nodes are members");
  job.Finish();
  world.Rest("one leaves");
  Workload& other = world.StartJob("other", kJob, {"node-c"});
  world.Rest("another joins");
  Workload& again = world.StartJob("again", kJob, {"node-b"});
  world.Rest("it comes back");
  // After a reboot a kubelet knows nothing of the claims that it had prepared.
  world.cluster().FailNode("node-c");
  other.Finish();
  world.Rest("the job of a silent node ends");
  world.cluster().RecoverNode("node-c", true);
  world.Rest("the node is swept");
  first.Finish();
  again.Finish();
  world.RunToRest("the workload ends");
}

// Two nodes die for good, and a user force-deletes pods: not the daemon pod of the first node,
// which stays in its deletion, but that of the second, whose entry no daemon removes.
void DaemonOnDeadNode(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-c"});
  for (const char* node : {"node-a", "node-b"}) world.cluster().FailNode(node);
  world.Rest("two nodes are lost");
  job.Finish();
  world.Rest("the job ends on the third");
  for (const auto& [key, pod] : Objects(world.All(Kind::kPod))) {
    if (key.ns == kJob.key.ns) world.UserForceDeletes(key);
  }
  world.Rest("the domain leaves the dead nodes");
  for (const auto& [key, pod] : Objects(world.All(Kind::kPod))) {
    if (key.ns == kDriverNamespace && TargetNode(*pod) == "node-b") world.UserForceDeletes(key);
  }
  world.Rest("one daemon pod is gone, and the other hangs");
  for (const char* node : {"node-a", "node-b"}) world.cluster().RecoverNode(node, true);
  world.Rest("the nodes are back");
}

void PluginOutage(World& world) {
  Workload& job = Form(world, {"node-a", "node-b"});
  NodeAgent& agent = world.cluster().agent("node-b");
  agent.RestartKubelet(world.cluster().now());
  world.RunFor(NodeAgent::kPutsBackAfter + std::chrono::seconds(5));
  world.Rest("a kubelet has restarted");
  agent.StopPlugin(world.cluster().now());
  world.Rest("the plugin of a node is gone");
  job.Finish();
  world.Rest("a pod does not end");
  world.UserDeletes(kJob);
  // A message says how long it has waited, so the oracles look when nothing more changes and a
  // server that is behind has caught up.
  world.RunToRest("the deletion waits");
  world.RunFor(std::chrono::minutes(3));
  world.Rest("the deletion still waits");
  agent.StartPlugin();
  world.Rest("the plugin is back, and all ends");
}

void Cordon(World& world, const std::string& node, bool cordoned) {
  world.UserEdits(Kind::kNode, {.name = node},
                  [&](Value& object) { object["spec"]["unschedulable"] = cordoned; });
}
void Disrupt(World& world, const std::string& node, bool disrupted) {
  world.UserEdits(Kind::kNode, {.name = node}, [&](Value& object) {
    object["spec"].Erase("taints");
    if (!disrupted) return;
    object["spec"]["taints"].Append(
        Value::Object({{"key", kDisruptedTaint}, {"effect", "NoSchedule"}}));
  });
}

// The policy that would put the pods into one clique is not installed.
void BadPlacement(World& world) {
  world.CreateDomain(kJob);
  world.UserEdits(Kind::kComputeDomain, kJob.key,
                  [](Value& domain) { domain["metadata"]["labels"][kPlacementLabel] = "clique"; });
  Workload& job = world.StartJob("pods", kJob, {"node-a", "node-c"});
  world.Rest("the domain forms in two cliques");
  Cordon(world, "node-a", true);
  world.Rest("a node is cordoned");
  Cordon(world, "node-a", false);
  Disrupt(world, "node-c", true);
  world.Rest("an autoscaler wants another");
  Disrupt(world, "node-c", false);
  world.Rest("it changes its mind");
  job.Finish();
  Workload& other = world.StartJob("other", kJob, {"node-d"});
  world.Rest("the next job has no fabric");
  other.Finish();
  world.RunToRest("the workload ends");
}

void Label(World& world, const std::string& placement, const std::string& group) {
  world.UserEdits(Kind::kComputeDomain, kJob.key, [&](Value& domain) {
    Value& labels = domain["metadata"]["labels"];
    Value& annotations = domain["metadata"]["annotations"];
    labels.Erase(kPlacementLabel);
    annotations.Erase(kPlacementGroupAnnotation);
    if (!placement.empty()) labels[kPlacementLabel] = placement;
    if (!group.empty()) annotations[kPlacementGroupAnnotation] = group;
  });
}

void SpansCliques(World& world) {
  world.CreateDomain(kJob);
  Workload& job = world.StartJob("pods", kJob, {"node-a", "node-b", "node-c"});
  world.Rest("the domain forms in two cliques");
  Label(world, "any", "");
  world.Rest("that is meant");
  Label(world, "clique", "example.com/rack");
  world.Rest("each group is meant to be in one");
  Label(world, "any", "");
  job.Finish();
  world.Rest("nobody uses it");
  Label(world, "", "example.com/rack");
  Workload& other = world.StartJob("other", kJob, {"node-a", "node-b"});
  world.Rest("all are in one clique, and so is each group");
  other.Finish();
  world.RunToRest("the workload ends");
}

void GiveIndex(World& world, const std::string& node, int index) {
  for (const auto& [key, clique] : Objects(world.All(Kind::kClique))) {
    world.UserEdits(Kind::kClique, key, [&](Value& edited) {
      for (Value& entry : edited["daemons"].MutableItems()) {
        if (entry["nodeName"].AsString() == node) entry["index"] = index;
      }
    });
  }
}

// IMEX keeps running and status says so, until a user follows the advice.
void IndexChanged(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-c"});
  GiveIndex(world, "node-b", 7);
  world.RunFor(std::chrono::seconds(2));
  GiveIndex(world, "node-b", 9);  // On second thoughts.
  world.Rest("a user has changed an index");
  world.CheckQuiet();
  if (const ObjectPtr pod = FindDaemonPod(world, "node-b")) {
    world.UserDeletes(Kind::kPod, pod->key());
  }
  world.Rest("its pod is another");
  job.Finish();
  world.RunToRest("the workload ends");
}

void ImexAndDaemonsDie(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-c"});
  Daemons& daemons = world.daemons();
  if (const auto* victim = daemons.Victim("node-b")) daemons.EndImex(*victim);
  world.Rest("an IMEX has ended by itself");
  if (const auto* victim = daemons.Victim("node-c")) daemons.Kill(*victim);
  world.Rest("a daemon has died");
  world.CheckQuiet();
  for (const char* node : {"node-b", "node-c"}) {
    if (const ObjectPtr pod = FindDaemonPod(world, node)) {
      world.UserDeletes(Kind::kPod, pod->key());
    }
    world.RunFor(std::chrono::seconds(1));
  }
  world.Rest("two pods are others");
  job.Finish();
  world.RunToRest("the workload ends");
}

void MemoryIsLost(World& world) {
  Workload& job = Form(world, {"node-a", "node-c"});
  Workload& solo = world.StartJob("solo", kJob, {"node-b"});
  world.Rest("two jobs use the domain");
  Daemons& daemons = world.daemons();
  if (const auto* victim = daemons.Victim("node-b")) daemons.EndImex(*victim);
  world.Rest("an IMEX has ended by itself");
  solo.Finish();
  world.Rest("its pod has ended");
  Workload& next = world.StartJob("next", kJob, {"node-b"});
  world.Rest("another pod is there");
  job.Finish();
  world.Rest("no pod of that time is left");
  next.Finish();
  world.RunToRest("the workload ends");
}

// As an autoscaler or an administrator does: the Node is deleted with all pods, and registered
// again, without label. Then a daemon pod is deleted by force, and two nodes boot with one
// another's addresses.
void NodesRecreated(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-c"});
  world.UserDeletes(Kind::kNode, {.name = "node-b"});
  world.Rest("a Node is deleted");
  world.UserCreates(Kind::kNode, "", NodeObject("node-b", "node-b-boot-1"));
  world.Rest("it is registered again");
  if (const ObjectPtr pod = FindDaemonPod(world, "node-a")) world.UserForceDeletes(pod->key());
  world.Rest("a daemon pod is another");
  Cluster& cluster = world.cluster();
  const int number = cluster.agent("node-a").number();
  for (const char* node : {"node-a", "node-b"}) cluster.FailNode(node);
  world.RunFor(std::chrono::seconds(5));
  cluster.agent("node-a").TakeAddressesOf(cluster.agent("node-b").number());
  cluster.agent("node-b").TakeAddressesOf(number);
  for (const char* node : {"node-a", "node-b"}) cluster.RecoverNode(node, true);
  world.Rest("two nodes have one another's addresses");
  job.Finish();
  world.RunToRest("the workload ends");
}

// Of a domain for three nodes one is cordoned at first, and has a taint that the daemons tolerate
// and the job does not; then one domain goes in the foreground, and one leaves orphans.
void TaintsAndPropagation(World& world) {
  const DomainName counted = {.key = kJob.key, .template_name = kJob.template_name, .num_nodes = 3};
  const auto set_taints = [&](const Value& taints) {
    world.UserEdits(Kind::kNode, {.name = "node-c"}, [&](Value& node) {
      node["spec"].Erase("taints");
      if (!taints.IsNull()) node["spec"]["taints"] = taints;
    });
  };
  set_taints(Value::Array({Value::Object({{"key", "team"}, {"effect", "NoSchedule"}})}));
  world.CreateDomain(counted);
  Workload& job = world.StartJob("pods", counted, {"node-a", "node-b", "node-c"});
  world.Rest("two of three nodes have joined");
  set_taints({});
  world.Rest("the third has joined");
  set_taints(Value::Array({Value::Object({{"key", "team"}, {"effect", "NoExecute"}})}));
  world.Rest("daemons tolerate what came later, and the job's pod does not");
  set_taints({});
  world.Rest("it is back");
  job.Finish();
  world.RunToRest("the job ends");
  world.UserDeletes(counted, "Foreground");
  world.Rest("the domain has gone in the foreground");
  world.CreateDomain(kOther);
  Workload& next = world.StartJob("next", kOther, {"node-a", "node-b"});
  world.Rest("another domain forms");
  next.Finish();
  world.RunToRest("its job ends");
  world.UserDeletes(kOther, "Orphan");
  world.Rest("the domain has gone and left no orphans");
}

// Of one clique the daemons write into the domain's status, until they are replaced by those that
// keep cliques.
void DaemonsWithoutCliques(World& world) {
  const auto set_keeps_cliques = [&](bool keeps_cliques) {
    for (const char* node : {"node-a", "node-b"}) {
      world.cluster().agent(node).SetKeepsCliques(keeps_cliques);
    }
  };
  set_keeps_cliques(false);
  Workload& rest = Form(world, {"node-c", "node-d"});
  Workload& job = world.StartJob("first", kJob, {"node-a", "node-b"});
  world.Rest("one clique has no object");
  world.cluster().FailNode("node-b");
  world.Rest("one of its nodes is lost");
  world.cluster().RecoverNode("node-b", true);
  world.Rest("it is back");
  job.Finish();
  world.RunToRest("its job ends");
  set_keeps_cliques(true);
  Workload& next = world.StartJob("next", kJob, {"node-a", "node-b"});
  world.Rest("both cliques have one");
  next.Finish();
  rest.Finish();
  world.RunToRest("the jobs end");
}

// As in issue 1486 of NVIDIA's driver: the gate of cliques is switched on over a domain whose
// daemon runs without it, and further nodes join, one of them in the same clique.
void CliquesSwitchedOn(World& world) {
  world.cluster().agent("node-a").SetKeepsCliques(false);
  Workload& first = Form(world, {"node-a"});
  Workload& more = world.StartJob("more", kJob, {"node-b", "node-c", "node-d"});
  world.Rest("one clique has a daemon of each kind");
  more.Finish();
  world.RunToRest("the later ones end");
  first.Finish();
  world.RunToRest("the first one ends");
}

// As beside NVIDIA's CRDs of 25.8.1, and by its daemons: there are no cliques. Then an
// administrator installs their CRD.
void CliquesNotServed(World& world) {
  const auto serve = [&](bool is_served) {
    world.cluster().store().SetServed(Kind::kClique, is_served);
    for (const std::string& node : kAll) world.cluster().agent(node).SetKeepsCliques(is_served);
  };
  serve(false);
  Workload& job = Form(world, kAll);
  world.cluster().FailNode("node-b");
  world.Rest("a node is lost");
  world.cluster().RecoverNode("node-b", true);
  world.Rest("it is back");
  job.Finish();
  world.RunToRest("the job ends");
  serve(true);
  // The controller looks every 5 to 30 s, and its back-off ends after two minutes.
  world.RunFor(std::chrono::seconds(160));
  Workload& next = world.StartJob("next", kJob, {"node-a", "node-b"});
  world.Rest("the next one has a clique");
  next.Finish();
  world.RunToRest("it ends");
}

void EndDaemon(World& world, const std::string& node, const std::string& phase) {
  if (const ObjectPtr pod = FindDaemonPod(world, node)) {
    world.cluster().agent(node).EndPod(pod->uid(), phase);
  }
}

// The node is lost for a moment, and no pod of it is evicted: what runs there keeps running.
void CutNetwork(World& world, const std::string& node) {
  world.cluster().FailNode(node);
  world.RunFor(NodeController::kMonitorGrace + std::chrono::seconds(5));
  world.cluster().RecoverNode(node, false);
  world.Rest("the network of a node was cut, and is there again");
}

// A network is cut, readiness comes and goes, a daemon crashes over and over, one is evicted, and
// pods of the job fail or succeed and stay.
void UnhealthyDaemons(World& world) {
  Workload& job = Form(world, {"node-a", "node-b", "node-c"});
  CutNetwork(world, "node-c");
  NodeAgent& agent = world.cluster().agent("node-b");
  using Health = NodeAgent::Health;
  for (int i = 0; i < 3; ++i) {
    agent.SetHealth(Health::kUnready);
    world.RunFor(std::chrono::seconds(2));
    agent.SetHealth(Health::kWell);
    world.RunFor(std::chrono::seconds(2));
  }
  world.Rest("its readiness has come and gone");
  agent.SetHealth(Health::kCrashing);
  world.Rest("it crashes over and over");
  agent.SetHealth(Health::kUnready);
  world.Rest("it runs, and is not ready");
  agent.SetHealth(Health::kLost);
  world.Rest("its kubelet does not know how it is");
  agent.SetHealth(Health::kWell);
  world.Rest("it is ready again");
  for (int i = 0; i < 3; ++i) {
    EndDaemon(world, "node-c", "Failed");
    world.Rest("a daemon was evicted, and is replaced later each time");
  }
  EndDaemon(world, "node-c", "Succeeded");
  world.Rest("a daemon has come to its end, and is replaced");
  for (const auto& [key, pod] : Objects(world.All(Kind::kPod))) {
    if (key.ns != kJob.key.ns) continue;
    const std::string node = TargetNode(*pod);
    if (node.empty()) continue;  // It waits for a domain that is deleted.
    world.cluster().agent(node).EndPod(pod->uid(), node == "node-a" ? "Failed" : "Succeeded");
    if (node == "node-a") world.Rest("a pod of the job has failed");
  }
  world.Rest("the others have succeeded");
  job.Finish();
  world.RunToRest("its pods go");
}

// Daemons that never become ready, so that the job's pods wait for their channels until the grace
// period of the deletion is over, and after it. It does not rest then: a plugin that answers its
// kubelet labels the nodes again, and the controller takes the labels off ever more rarely.
void DeleteWhilePodsWait(World& world) {
  for (const char* node : {"node-a", "node-b", "node-c"}) {
    world.cluster().agent(node).SetHealth(NodeAgent::Health::kUnready);
  }
  Workload& job = Form(world, {"node-a", "node-b"});
  world.UserEdits(Kind::kComputeDomain, kJob.key, [](Value& domain) {
    domain["metadata"]["annotations"][kDeletionGraceAnnotation] = "30s";
  });
  world.UserDeletes(kJob);
  world.RunFor(std::chrono::minutes(3));
  job.Finish();
  world.Rest("the job ends");
}

// A user edits the DaemonSet, and what the controller does about it is refused for minutes: the
// daemons serve meanwhile.
void RepairRefused(World& world) {
  Workload& job = Form(world, {"node-a", "node-b"});
  world.RunFor(std::chrono::seconds(30));
  world.RefuseWrites(Kind::kDaemonSet);
  for (const auto& [key, set] : Objects(world.All(Kind::kDaemonSet))) {
    world.UserEdits(Kind::kDaemonSet, key, [](Value& edited) {
      Value& containers = edited["spec"]["template"]["spec"]["containers"];
      for (Value& container : containers.MutableItems()) container["image"] = "theirs";
    });
  }
  world.RunFor(std::chrono::minutes(3));
  world.RefuseWrites({});
  world.Rest("the DaemonSet is repaired");
  job.Finish();
  world.Rest("the job ends");
}

// The only node of a job is lost, and back before its pods are evicted; meanwhile a user deletes
// the domain. The job goes on for minutes, within the grace period.
void DeleteWhileNodeIsLost(World& world) {
  Workload& job = Form(world, {"node-b"});
  world.cluster().FailNode("node-b");
  world.RunFor(NodeController::kMonitorGrace + std::chrono::seconds(5));
  world.UserDeletes(kJob);
  world.RunFor(std::chrono::minutes(2));
  world.cluster().RecoverNode("node-b", false);
  world.RunFor(std::chrono::minutes(4));
  job.Finish();
  world.Rest("the job ends");
}

const std::vector<std::pair<std::string, std::string>> kSixNodes = {
    {"node-a", "c1.0"}, {"node-b", "c1.0"}, {"node-c", "c2.0"},
    {"node-d", "c2.0"}, {"node-e", "c3.0"}, {"node-f", ""}};

// So that their passes go on side by side, and the bound on replacements in the whole cluster meets
// several domains: three allow them under their job. Of the others one job ends meanwhile, and one
// goes on with a daemon of the older image.
void UpgradeFiveDomains(World& world) {
  const std::vector<Nodes> nodes = {
      {"node-a", "node-b"}, {"node-c"}, {"node-d"}, {"node-e"}, {"node-f"}};
  std::vector<DomainName> domains;
  std::vector<Workload*> jobs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = "many-" + std::to_string(i);
    domains.push_back({.key = {.ns = i % 2 == 0 ? "train" : "lab", .name = name},
                       .template_name = name + "-channel"});
    world.CreateDomain(domains.back());
    jobs.push_back(&world.StartJob(name, domains.back(), nodes[i]));
  }
  world.Rest("five domains form");
  for (std::size_t i = 0; i < 3; ++i) {
    world.UserEdits(Kind::kComputeDomain, domains[i].key, [](Value& domain) {
      domain["metadata"]["annotations"][kDaemonRollAnnotation] = "Always";
    });
  }
  world.UpgradeController("cdom:2");
  world.RunFor(std::chrono::seconds(20));
  jobs[3]->Finish();
  world.Rest("the daemons of three are replaced");
  jobs[4]->Finish();
  world.Rest("the job with an older daemon ends");
  for (Workload* job : jobs) job->Finish();
  world.RunToRest("all jobs end");
}

// A pod starts beside another and names its claim, so both have the channel of their node; the
// first ends, and a third starts beside the second. A deletion waits for the last of them.
void SharedClaim(World& world) {
  world.CreateDomain(kJob);
  // The phases of the deletion are about pods. A domain whose deletion is seen late by two of them,
  // as behind silent watches, would reach the end of its grace period first.
  world.UserEdits(Kind::kComputeDomain, kJob.key, [](Value& domain) {
    domain["metadata"]["annotations"][kDeletionGraceAnnotation] = "2h";
  });
  const std::string claim = "shared";
  Workload& peer = world.StartJob("peer", kJob, {"node-b"});
  Workload& first = world.StartJob("first", kJob, {"node-a"}, claim);
  world.Rest("the domain forms");
  const ObjectPtr daemon = FindDaemonPod(world, "node-a");
  Workload& second = world.StartJob("second", kJob, {"node-a"}, claim);
  world.Rest("two pods share a channel");
  first.Finish();
  const auto is_served = [&](const World& now) {
    const ObjectPtr pod = now.Get(Kind::kPod, {.ns = kJob.key.ns, .name = "second-0"});
    const ObjectPtr still = FindDaemonPod(now, "node-a");
    return pod && IsPodReady(*pod) && daemon && still && still->uid() == daemon->uid() &&
           IsLabelled(now, "node-a");
  };
  world.Rest("the first of them ends");
  world.RunUntil("the second has what it had", is_served);
  Workload& third = world.StartJob("third", kJob, {"node-a"}, claim);
  world.Rest("a third shares it");
  peer.Finish();
  world.Rest("the other node leaves");
  world.UserDeletes(kJob);
  world.Rest("the deletion waits for both");
  second.Finish();
  world.Rest("it waits for the last");
  third.Finish();
  world.Rest("the last pod ends");
}

// Whether the domain was Ready in each state since then.
bool WasReadySince(const History& history, const kube::ObjectKey& domain, Revision since) {
  return std::ranges::all_of(history.ChangesOf(Kind::kComputeDomain), [&](std::size_t place) {
    const Change& change = history.changes()[place];
    return change.revision() <= since || change.after->key() != domain ||
           FindCondition(change.after->value(), "Ready")["status"].AsString() == "True";
  });
}

// For an hour no controller runs. Meanwhile a node is lost, one is replaced and one added, and jobs
// end and start, but not the first, whose domain must not notice.
void ControllerAway(World& world) {
  Workload& job = Form(world, {"node-a", "node-b"});
  world.CreateDomain(kOther);
  Workload& next = world.StartJob("next", kOther, {"node-c", "node-d"});
  world.CreateDomain(kTwin);
  Workload& ends = world.StartJob("ends", kTwin, {"node-e"});
  world.Rest("three domains form");
  const ObjectPtr daemon = FindDaemonPod(world, "node-a");
  const bool is_clean = !world.outcome().faulted && !world.spec().two_leaders;
  const Revision since = world.cluster().store().revision();
  Workload* late = nullptr;
  world.RunWithoutController([&] {
    world.RunFor(std::chrono::minutes(5));
    world.cluster().FailNode("node-d");
    ends.Finish();
    world.RunFor(std::chrono::minutes(10));
    world.cluster().AddNode("node-g", "c1.0");
    late = &world.StartJob("late", kTwin, {"node-f", "node-g"});
    world.UserDeletes(Kind::kNode, {.name = "node-c"});
    world.RunFor(std::chrono::minutes(10));
    world.UserCreates(Kind::kNode, "", NodeObject("node-c", "node-c-boot-1"));
    world.RunFor(std::chrono::minutes(35));
  });
  world.Rest("another process takes over");
  if (is_clean && !world.outcome().faulted) {
    const ObjectPtr still = FindDaemonPod(world, "node-a");
    if (!daemon || !still || still->uid() != daemon->uid()) {
      world.Say("S22: a daemon was replaced because no controller ran");
    }
    if (!WasReadySince(world.cluster().store().history(), kJob.key, since)) {
      world.Say("S21: a domain left Ready because no controller ran");
    }
  }
  world.cluster().RecoverNode("node-d", true);
  world.Rest("the lost node is back");
  for (Workload* one : {&job, &next, late}) one->Finish();
  world.RunToRest("all jobs end");
}

constexpr int kFull = NodeAgent::kMembersMax;

std::vector<std::pair<std::string, std::string>> OneNodeTooMany() {
  std::vector<std::pair<std::string, std::string>> nodes;
  for (int i = 0; i <= kFull; ++i) {
    nodes.emplace_back(std::string("node-") + static_cast<char>('a' + i), "c1.0");
  }
  return nodes;
}

void CliqueFull(World& world) {
  Nodes nodes;
  for (const auto& [node, clique] : OneNodeTooMany()) nodes.push_back(node);
  const std::string late = nodes.back();
  nodes.pop_back();
  const std::string first = nodes.front();
  nodes.erase(nodes.begin());
  Workload& leaving = world.StartJob("leaving", kJob, {first});
  Workload& job = Form(world, nodes);
  Workload& joining = world.StartJob("joining", kJob, {late});
  world.Rest("a node finds no room");
  leaving.Finish();
  world.Rest("a node makes room");
  job.Finish();
  joining.Finish();
  world.RunToRest("the workload ends");
}

// A domain whose job ends before it is deleted, one that is deleted under its job, and one of the
// same name after it.
void NvidiaPermissions(World& world) {
  Workload& job = Form(world, kAll);
  job.Finish();
  world.Rest("the first job ends");
  world.CreateDomain(kOther);
  Workload& next = world.StartJob("next", kOther, {"node-a", "node-b", "node-d"});
  world.Rest("the second domain takes the nodes over");
  world.UserDeletes(kOther);
  world.Rest("the deletion waits for the job");
  next.Finish();
  world.UserRecreates(kJob);
  world.Rest("the second job ends, and the first domain is another");
}

}  // namespace

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> scenarios = {
      {
          .name = "create-ready-delete",
          .what = "Pods form a domain, the job ends, and a user deletes the domain",
          .nodes = kFourNodes,
          .run = CreateReadyDelete,
      },
      {
          .name = "delete-while-forming",
          .what = "A user deletes the domain before its first daemon runs",
          .nodes = kFourNodes,
          .run = DeleteWhileForming,
          .order_matters = true,
      },
      {
          .name = "recreate-same-name",
          .what = "A user deletes the domain and creates another of the same name",
          .nodes = kFourNodes,
          .run = RecreateSameName,
      },
      {
          .name = "two-domains-in-turn",
          .what = "Two domains use the same nodes, one after the other",
          .nodes = kFourNodes,
          .run = TwoDomainsInTurn,
      },
      {
          .name = "two-domains-compete",
          .what = "Two domains compete for a node",
          .nodes = kFourNodes,
          .run = TwoDomainsCompete,
          .order_matters = true,
          .run_otherwise = TheRivalComesSecond,
      },
      {
          .name = "join-leave-rejoin",
          .what = "Nodes join, leave and join again",
          .nodes = kFourNodes,
          .run = JoinLeaveRejoin,
      },
      {
          .name = "move-to-another-rack",
          .what = "A node is lost, and comes back in another rack",
          .nodes = kFourNodes,
          .run = MoveToAnotherRack,
      },
      {
          .name = "replace-daemons",
          .what = "Daemon pods are replaced one by one, by a user and by the controller",
          .nodes = kFourNodes,
          .run = ReplaceDaemons,
      },
      {
          .name = "delete-namespace",
          .what = "A user deletes the namespace of two domains",
          .nodes = kFourNodes,
          .run = DeleteNamespace,
      },
      {
          .name = "delete-children",
          .what = "A user deletes each child of the domain, and a node's label",
          .nodes = kFourNodes,
          .run = DeleteChildren,
      },
      {
          .name = "template-name-taken",
          .what = "Another object has the name of the workload's claim template",
          .nodes = kFourNodes,
          .run = TemplateNameTaken,
      },
      {
          .name = "clique-full",
          .what = "One more node joins than a clique can hold",
          .nodes = OneNodeTooMany(),
          .run = CliqueFull,
      },
      {
          .name = "rejoin-clique",
          .what = "A node comes back to its clique, and another reboots",
          .nodes = kOneClique,
          .run = RejoinClique,
      },
      {
          .name = "plugin-outage",
          .what = "The kubelet plugin of a node stops, and starts again",
          .nodes = kOneClique,
          .run = PluginOutage,
      },
      {
          .name = "daemon-on-dead-node",
          .what = "A daemon pod cannot end because its node is dead",
          .nodes = kOneClique,
          .run = DaemonOnDeadNode,
      },
      {
          .name = "bad-placement",
          .what = "Members are in two cliques, on a cordoned node, or without fabric",
          .nodes = kFourNodes,
          .run = BadPlacement,
      },
      {
          .name = "spans-cliques",
          .what = "Pods are in two cliques, which is meant, or meant for groups of them",
          .nodes = kFourNodes,
          .run = SpansCliques,
      },
      {
          .name = "index-changed",
          .what = "A user gives a member another index",
          .nodes = kOneClique,
          .run = IndexChanged,
          .needs_own_daemons = true,
      },
      {
          .name = "imex-and-daemons-die",
          .what = "IMEX ends, a daemon dies, and a user deletes two daemon pods",
          .nodes = kOneClique,
          .run = ImexAndDaemonsDie,
          .needs_own_daemons = true,
      },
      {
          .name = "memory-is-lost",
          .what = "IMEX ends under one of two jobs, whose pods end one after the other",
          .nodes = kOneClique,
          .run = MemoryIsLost,
          .needs_own_daemons = true,
      },
      {
          .name = "nvidia-permissions",
          .what = "Domains form and end with only the permissions of NVIDIA's chart",
          .nodes = kFourNodes,
          .run = NvidiaPermissions,
          .has_nvidia_permissions = true,
      },
      {
          .name = "daemons-without-cliques",
          .what = "Daemons write membership into status first, and into cliques later",
          .nodes = kFourNodes,
          .run = DaemonsWithoutCliques,
          .order_matters = true,  // Of addresses, when the pods of a node start again.
      },
      {
          .name = "cliques-switched-on",
          .what = "Daemons write membership into status, and those that join later into cliques",
          .nodes = kFourNodes,
          .run = CliquesSwitchedOn,
      },
      {
          .name = "nodes-recreated",
          .what = "Nodes are deleted and created again, and addresses are reused",
          .nodes = kOneClique,
          .run = NodesRecreated,
      },
      {
          .name = "unhealthy-daemons",
          .what = "Daemons are not ready, crash and are evicted; the pods of the job end",
          .nodes = kOneClique,
          .run = UnhealthyDaemons,
      },
      {
          .name = "taints-and-propagation",
          .what = "Nodes are tainted; domains are deleted in the foreground and with orphans",
          .nodes = kOneClique,
          .run = TaintsAndPropagation,
      },
      {
          .name = "quota-exhausted",
          .what = "A quota leaves no room for the workload's claim template, and is raised",
          .nodes = kOneClique,
          .run = QuotaExhausted,
      },
      {
          .name = "upgrade-five-domains",
          .what = "Five domains form at once, and an upgrade replaces their daemons",
          .nodes = kSixNodes,
          .run = UpgradeFiveDomains,
      },
      {
          .name = "delete-while-pods-wait",
          .what = "A user deletes the domain, and its pods wait past the grace period",
          .nodes = kOneClique,
          .run = DeleteWhilePodsWait,
          .never_rests = true,
      },
      {
          .name = "liar-on-a-node",
          .what = "Root on a node gives it the label of a domain that has no pod there",
          .nodes = kOneClique,
          .run = LiarOnANode,
      },
      {
          .name = "repair-refused",
          .what = "A user edits the DaemonSet, and its repair is refused for minutes",
          .nodes = kOneClique,
          .run = RepairRefused,
      },
      {
          .name = "delete-while-node-is-lost",
          .what = "A user deletes the domain while the node of its job is lost for minutes",
          .nodes = kOneClique,
          .run = DeleteWhileNodeIsLost,
          .order_matters = true,
      },
      {
          .name = "shared-claim",
          .what = "Pods of one node share a claim, and end one after the other",
          .nodes = kOneClique,
          .run = SharedClaim,
      },
      {
          .name = "orphan-daemons",
          .what = "A user deletes the DaemonSet and leaves its daemons, which the next one adopts",
          .nodes = kFourNodes,
          .run = OrphanDaemons,
          .order_matters = true,  // Whether a clique is written again, with the new owner.
      },
      {
          .name = "names-of-before",
          .what = "A job runs with daemons of a release whose domains had the same node names",
          .nodes = kOneClique,
          .run = NamesOfBefore,
      },
      {
          .name = "repairs-undone",
          .what = "Another client undoes each repair for minutes",
          .nodes = kFourNodes,
          .run = RepairsUndone,
          .never_rests = true,
      },
      {
          .name = "controller-away",
          .what = "No controller runs for an hour, in which nodes and jobs come and go",
          .nodes = kSixNodes,
          .run = ControllerAway,
          .order_matters = true,  // Of how many daemons a node that is replaced sees.
      },
      {
          .name = "cliques-not-served",
          .what = "The CRD of cliques is missing, daemons write into status, and it is installed",
          .nodes = kFourNodes,
          .run = CliquesNotServed,
          .daemons_write = true,
          .never_rests = true,
      },
  };
  return scenarios;
}

const Scenario* FindScenario(const std::string& name) {
  const auto it = std::ranges::find(Scenarios(), name, &Scenario::name);
  return it == Scenarios().end() ? nullptr : &*it;
}

}  // namespace simulation
