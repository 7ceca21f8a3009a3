#include "test/bench/fixed_world.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "controller/compute_domain/requests/writes.h"
#include "controller/compute_domain/status/explanation/unlisted_claims.h"
#include "pkg/base/check.h"
#include "pkg/kube/client/page_limit.h"
#include "pkg/kube/testing/fakes.h"
#include "test/bench/fixed_world_parts.h"
#include "test/bench/objects.h"
#include "test/cluster/nodesim/render.h"
#include "test/fixtures/objects.h"

namespace fixed_world {

namespace {

using compute_domain::Observed;
using json::Value;

constexpr int kDomains = 1000;
constexpr int kMembers = 5;  // Of each domain, on nodes that follow one another.
constexpr int kForeignClaims = 5000;
constexpr int kSickEvery = 10;    // The last daemon of every tenth domain crashes.
constexpr int kSettledEvery = 2;  // Every other domain has the status that it must have.
constexpr const char* kVersion = "1000";

using Lists = std::map<std::string, std::vector<std::string>>;  // Key: file. Objects as text.

compute_domain::Facts Facts() {
  compute_domain::Facts facts = fixtures::MakeFacts();
  facts.settings.Edit().driver_namespaces = {fixtures::kDriverNs};
  facts.settings.Edit().daemons.controller_writes = true;
  facts.views.freshness[compute_domain::Kind::kResourceSlice] = compute_domain::Freshness::kFresh;
  return facts;
}

// Prints what is logged: nothing should be.
class Loud final : public base::Logger {
 public:
  void Log(base::LogLevel /*level*/, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    std::fprintf(stderr, "%.*s", static_cast<int>(message.size()), message.data());
    for (const base::LogField& field : fields) {
      std::fprintf(stderr, " %s=%s", std::string(field.key).c_str(),
                   std::string(field.value).c_str());
    }
    std::fputc('\n', stderr);
  }
};

// What managedFields say of a value: its fields, and lists as a whole.
Value FieldsOf(const Value& value) {
  Value fields = Value::Object();
  for (const auto& [name, member] : value.members())
    fields["f:" + std::string(name)] = FieldsOf(member);
  return fields;
}

// Adds what the API server adds to every object.
std::string AsServed(Value object, const std::string& uid) {
  Value& meta = object["metadata"];
  Value fields = FieldsOf(object);
  meta["uid"] = uid;
  meta["resourceVersion"] = kVersion;
  meta["generation"] = 1;
  meta["creationTimestamp"] = "2026-01-01T11:00:00Z";
  meta["managedFields"] = Value::Array({Value::Object({{"manager", "cdom"},
                                                       {"operation", "Update"},
                                                       {"apiVersion", "v1"},
                                                       {"time", "2026-01-01T11:00:00Z"},
                                                       {"fieldsType", "FieldsV1"},
                                                       {"fieldsV1", std::move(fields)}})});
  return json::Serialize(object);
}

std::string DomainUid(int number) {
  std::string digits = std::to_string(number);
  return "d0000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

api::ComputeDomain DomainOf(int number) {
  api::ComputeDomain domain = fixtures::MakeDomain();
  domain.meta.key = {.ns = bench::kNamespace, .name = "train-" + std::to_string(number)};
  domain.meta.uid = DomainUid(number);
  domain.meta.resource_version = kVersion;
  domain.template_name = bench::TemplateName(domain.meta.key.name);
  domain.status = {};
  return domain;
}

// Merges `from` into `object`, whose own values win.
void Complete(Value& object, const Value& from) {
  for (const auto& [name, member] : from.members()) {
    Value& own = object[name];
    if (own.IsNull()) {
      own = member;
    } else if (own.IsObject()) {
      Complete(own, member);
    }
  }
}

// One domain with all that belongs to it. The children are those that the planner creates.
class Maker {
 public:
  Maker(Lists& lists, const std::vector<Value>& nodes, int number)
      : lists_(lists), nodes_(nodes), number_(number), domain_(DomainOf(number)) {}

  void Make() {
    MakeChildren();
    for (int i = 0; i < kMembers; ++i) MakeMember(i);
    for (auto& [id, clique] : cliques_) {
      Add("computedomaincliques", fixtures::Store(clique).object, clique.meta.uid);
    }
    Add("computedomains", fixtures::Store(domain_).object, domain_.meta.uid);
  }

 private:
  void Add(const std::string& list, Value object, const std::string& uid) {
    lists_[list].push_back(AsServed(std::move(object), uid));
  }

  void MakeChildren() {
    const Observed fresh = {.uid = domain_.meta.uid, .domain = domain_, .facts = Facts()};
    const fixtures::Plan plan = fixtures::PlanReconcile(fresh, fixtures::Now());
    for (const auto& create : fixtures::Actions<compute_domain::Create>(plan)) {
      const auto object = json::Parse(compute_domain::RequestOf(create, fresh).body);
      CHECK(object);
      const std::string list = compute_domain::ResourceOf(create.kind).plural;
      const std::string uid = list + "-" + create.key.ns + "-of-" + domain_.meta.uid;
      if (create.kind == compute_domain::Kind::kDaemonSet) {
        daemon_set_ = *object;
        daemon_set_["metadata"]["uid"] = uid;
      } else if (create.key.ns == bench::kNamespace) {
        claim_template_ = *object;
        claim_template_["metadata"]["uid"] = uid;
      }
      Add(list, *object, uid);
    }
    CHECK(daemon_set_.IsObject() && claim_template_.IsObject());
  }

  void MakeMember(int i) {
    const std::size_t place =
        static_cast<std::size_t>(number_) * kMembers + static_cast<std::size_t>(i);
    Value node = nodes_[place];
    const std::string name = node["metadata"]["name"].AsString();
    const std::string id = node["metadata"]["labels"][api::kNodeCliqueLabel].AsString();
    CHECK(!id.empty());
    node["metadata"]["labels"][api::kDomainLabel] = domain_.meta.uid;
    Add("nodes", node, "node-" + name);
    Add("resourceslices", nodesim::RenderSlice(name, {.node = "node-" + name}), "slice-" + name);

    api::Clique& clique = CliqueOf(id);
    api::Member member = fixtures::MakeMember(name, static_cast<int>(clique.daemons.size()));
    member.ip = "10." + std::to_string(place / 62'500) + "." + std::to_string(place / 250 % 250) +
                "." + std::to_string(place % 250 + 1);
    member.clique = id;
    member.ready = number_ % kSickEvery != 0 || i + 1 < kMembers;
    clique.daemons.push_back(member);
    MakePod(member);
    MakeClaims(member);
  }

  api::Clique& CliqueOf(const std::string& id) {
    api::Clique& clique = cliques_[id];
    if (clique.id.empty()) {
      clique = fixtures::MakeClique();
      clique.meta.key.name = domain_.meta.uid + "." + id;
      clique.meta.uid = "clique-" + clique.meta.key.name;
      clique.domain = domain_.meta.uid;
      clique.id = id;
      clique.daemons.clear();
    }
    return clique;
  }

  void MakePod(const api::Member& member) {
    api::DaemonPod pod = fixtures::MakePod(member.node, 0);
    pod.domain = domain_.meta.uid;
    pod.ip = member.ip;
    pod.clique = member.clique;
    pod.controller_writes = true;
    pod.ready = member.ready;
    if (!member.ready) pod.trouble = "CrashLoopBackOff";
    pod.meta.key.name = daemon_set_["metadata"]["name"].AsString() + "-" + member.node;
    pod.meta.owners[0].name = daemon_set_["metadata"]["name"].AsString();
    pod.meta.owners[0].uid = daemon_set_["metadata"]["uid"].AsString();
    Value object = fixtures::Store(pod).object;
    object["metadata"].Erase("annotations");  // Those of the template.
    Complete(object, daemon_set_["spec"]["template"]);
    Add("pods", std::move(object), "pod-" + member.node);
  }

  void MakeClaims(const api::Member& member) {
    Value claim = bench::Claim("claim-" + member.node, claim_template_);
    claim["status"] = bench::ClaimStatus(claim, member.node);
    Add("resourceclaims", std::move(claim), "claim-" + member.node);
    api::ResourceClaim daemons = fixtures::MakeDaemonClaim(member.node);
    daemons.daemon_domain = domain_.meta.uid;
    Add("resourceclaims", fixtures::Store(daemons).object, "daemon-claim-" + member.node);
  }

  Lists& lists_;
  const std::vector<Value>& nodes_;
  const int number_;
  const api::ComputeDomain domain_;
  Value daemon_set_ = {};
  Value claim_template_ = {};
  std::map<std::string, api::Clique> cliques_ = {};
};

// What a cache watches, by file.
std::map<std::string, kube::ReflectorOptions> Watched() {
  Loud log;
  compute_domain::Cache cache({fixtures::kDriverNs}, [](const std::string& /*uid*/) {}, log);
  std::map<std::string, kube::ReflectorOptions> watched;
  for (const auto& watch : cache.Watches()) {
    watched[watch.options.resource.plural] = watch.options;
  }
  return watched;
}

void Write(const std::string& file, const std::vector<std::string>& objects,
           const kube::ReflectorOptions& options) {
  std::ofstream out(file);
  const kube::Resource& resource = options.resource;
  // As a reflector asks for them.
  kube::PageLimit limit(options.page_size, kube::PageLimit::kFirst);
  for (std::size_t i = 0; i < objects.size();) {
    const std::size_t end = std::min(objects.size(), i + static_cast<std::size_t>(limit.objects()));
    std::string page = R"({"kind":")" + resource.kind + R"(List","apiVersion":")" +
                       resource.ApiVersion() + R"(","items":[)";
    for (const std::size_t first = i; i < end; ++i) page += (i == first ? "" : ",") + objects[i];
    page += R"(],"metadata":{"resourceVersion":")" + std::string(kVersion) + '"';
    if (end < objects.size()) page += R"(,"continue":"after )" + std::to_string(end) + '"';
    page += "}}\n";
    limit.OnPage(page.size());
    out << page;
  }
  CHECK(out.flush());
}

}  // namespace

std::unique_ptr<compute_domain::Cache> Read(const std::string& folder) {
  static Loud log;
  static kube::FixedRandom random(kube::FixedRandom::Side::kLow);
  auto cache = std::make_unique<compute_domain::Cache>(
      std::vector<std::string>{fixtures::kDriverNs}, [](const std::string& /*uid*/) {}, log);
  for (const auto& watch : cache->Watches()) {
    std::ifstream pages(folder + "/" + std::string(watch.options.resource.plural));
    kube::Reflector reflector(watch.options, *watch.sink, random, log);
    while (!reflector.HasSynced()) {
      CHECK(reflector.Poll(fixtures::Now().monotonic).kind == kube::Reflector::Next::Kind::kSend);
      std::string page;
      CHECK(std::getline(pages, page));
      Fill(reflector, std::move(page));
    }
  }
  return cache;
}

Observed Look(const compute_domain::Cache& cache, const std::string& uid) {
  Observed observed = Gather(cache, uid);
  observed.facts = Facts();
  // Its pods were read when the domain formed.
  for (const api::ResourceClaim& claim : observed.children.claims) {
    for (const std::string& consumer : claim.consumers) {
      const std::string pod = consumer.substr(consumer.find('/') + 1);
      observed.memory.lists_claim[compute_domain::KeyOfUse(claim, pod)] = true;
    }
  }
  return observed;
}

void Make(const std::string& folder) {
  Lists lists;
  const std::vector<Value> nodes = bench::Nodes(kDomains * kMembers);
  for (int number = 0; number < kDomains; ++number) Maker(lists, nodes, number).Make();
  for (int i = 0; i < kForeignClaims; ++i) {
    const std::string name = "foreign-" + std::to_string(i);
    lists["resourceclaims"].push_back(AsServed(bench::ForeignClaim(name), name));
  }
  const auto watched = Watched();
  for (const auto& [list, objects] : lists) Write(folder + "/" + list, objects, watched.at(list));

  // Now with the statuses that the planner decides.
  const auto cache = Read(folder);
  std::vector<std::string>& domains = lists["computedomains"];
  for (int number = 0; number < kDomains; number += kSettledEvery) {
    Observed observed = Look(*cache, DomainUid(number));
    const fixtures::Plan plan = Decide(observed);
    CHECK(plan.status);
    api::ComputeDomain domain = DomainOf(number);
    domain.status = plan.status->status;
    domains[static_cast<std::size_t>(number)] =
        AsServed(fixtures::Store(domain).object, domain.meta.uid);
  }
  Write(folder + "/computedomains", domains, watched.at("computedomains"));
}

}  // namespace fixed_world
