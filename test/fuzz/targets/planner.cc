// One decision about objects of which nothing is as it should be, save who they are:
//  - it is made, with every request that follows from it;
//  - each request stays within the API, with a body that is JSON;
//  - what it says of the domain is text for people: lines of UTF-8, no longer than the API takes;
//  - a status or a clique that it writes reads back equal, so that it is not written again.
#include "controller/compute_domain/requests/action_requests.h"
#include "controller/compute_domain/status/debug_page.h"
#include "controller/compute_domain/status/events.h"
#include "controller/compute_domain/status/explanation/node_survey.h"
#include "pkg/json/repair.h"
#include "pkg/json/utf8.h"
#include "test/fixtures/plan.h"
#include "test/fuzz/worlds.h"

namespace {

using namespace compute_domain;
using json::Value;

// The snapshot of the domain in a cluster that has these objects.
Observed Gather(fuzz::Input& input, const Observed& world) {
  kube::RecordingLogger logger;
  Cache cache({fixtures::kDriverNs, fixtures::kOldDriverNs}, [](const std::string&) {}, logger);
  std::vector<Cache::Watch> watches = cache.Watches();
  json::Parser parser;
  for (fixtures::Stored& stored : fixtures::StoreAll(world)) {
    fuzz::SpoilContent(input, stored.object);
    const std::string ns = stored.object["metadata"]["namespace"].AsString();
    const std::string text = fuzz::WriteWithParameters(input, std::move(stored.object));
    for (const Cache::Watch& watch : watches) {
      const bool is_for_it = watch.options.resource == ResourceOf(stored.kind) &&
                             (watch.options.ns.empty() || watch.options.ns == ns);
      if (!is_for_it) continue;
      auto object = parser.Parse(text);
      const std::string repaired = json::Repair(text);
      if (!object) object = parser.Parse(repaired);
      CHECK(object);
      watch.sink->Apply(*object, false);
    }
  }
  Observed observed = cache.Read(fixtures::kUid);
  observed.facts = world.facts;
  observed.evidence = world.evidence;
  if (input.ConsumeBool()) observed.evidence.children = observed.children;
  if (input.ConsumeBool()) observed.evidence.daemon_pods = observed.children.daemon_pods;
  if (input.ConsumeBool()) observed.evidence.claims = observed.children.claims;
  if (input.ConsumeBool()) observed.memory.scheduler_messages["train-2"] = fuzz::Text(input);
  if (input.ConsumeBool()) {
    observed.memory.reach["train-2"] =
        std::make_shared<const PodReach>(PodReach{.nodes = std::set<std::string>{"node-0"}});
    observed.facts.cluster.gpus.by_node =
        std::make_shared<const api::GpusByNode>(api::GpusByNode{{"node-0", {.count = 1}}});
  }
  cache.AddNodes(observed);
  if (!observed.domain) return observed;
  NodeSurveyor surveyor(observed, cache.UnrelatedClaims(),
                        [&](const std::string& uid) { return cache.NameOf(uid); });
  cache.VisitNodes(cache.Placements(), [&](const api::Node& node, const NodeContext& context) {
    surveyor.Add(node, context);
  });
  observed.others.surveys = surveyor.Take();
  return observed;
}

void CheckText(const std::string& text, std::size_t most) {
  CHECK(text.size() <= most);
  CHECK(json::IsUtf8(text));
}

void CheckReadsBack(const WriteStatus& write) {
  constexpr std::size_t kMessageMax = 32768;  // Of a condition.
  for (const kube::Condition& condition : write.status.conditions) {
    CheckText(condition.message, kMessageMax);
    CHECK(json::OneLine(condition.message, kMessageMax) == condition.message);
  }
  Value object = fixtures::Store(fixtures::MakeDomain()).object;
  object["status"] = Encode(write.status);
  json::Parser parser;
  const std::string text = json::Serialize(object);
  CHECK(api::DecodeComputeDomain(*parser.Parse(text))->status == write.status);
}

void CheckReadsBack(const WriteClique& write) {
  Value object = fixtures::Store(fixtures::MakeClique()).object;
  object["daemons"] = api::EncodeDaemons(write.clique.daemons);
  object["metadata"]["annotations"][api::kHeldIndicesAnnotation] =
      api::EncodeHeld(write.clique.held);
  object["metadata"]["annotations"][api::kRebootedAnnotation] =
      api::EncodeRebooted(write.clique.rebooted);
  json::Parser parser;
  const std::string text = json::Serialize(object);
  const auto clique = api::DecodeClique(*parser.Parse(text));
  CHECK(clique->daemons == write.clique.daemons);
  CHECK(clique->held == write.clique.held);
  CHECK(clique->rebooted == write.clique.rebooted);
}

void CheckRequests(const Action& action, const Observed& observed) {
  for (const http::Request& request : RequestsOf(action, observed)) {
    CHECK(request.path.starts_with("/api/v1/") || request.path.starts_with("/apis/"));
    CHECK(request.path.find("/../") == std::string::npos);
    CHECK(request.path.find_first_of(" \r\n#") == std::string::npos);
    if (!request.body.empty()) CHECK(json::Parse(request.body));
  }
  CHECK(!Describe(action).empty());
  for (const kube::Event& event : EventsOf(action, observed)) CheckText(event.note, 1U << 20);
}

}  // namespace

FUZZ_TARGET(planner, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  Observed observed = Gather(input, fuzz::AnyWorld(input));
  const Instant now = fixtures::Now();
  const fixtures::Plan plan = fixtures::PlanReconcile(observed, now);
  for (const Step& step : plan.steps) {
    for (const Action& action : step) {
      CheckRequests(action, observed);
      if (const auto* clique = std::get_if<WriteClique>(&action)) CheckReadsBack(*clique);
    }
  }
  if (plan.status) {
    CheckRequests(*plan.status, observed);
    CheckReadsBack(*plan.status);
  }
  static_cast<void>(EventsForPendingPods(observed));
  if (observed.domain) CHECK(json::Parse(json::Serialize(DescribeDomain(observed, now))));
}
