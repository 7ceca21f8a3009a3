#include "test/simulation/life.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/json/value.h"
#include "test/simulation/branch.h"
#include "test/simulation/mutants.h"
#include "test/simulation/peers.h"
#include "test/simulation/replica.h"

namespace simulation {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::array<std::pair<Strike, std::string_view>, 6> kStrikeNames = {{
    {Strike::kNone, "none"},
    {Strike::kCrashBefore, "crash-before"},
    {Strike::kCrashAfter, "crash-after"},
    {Strike::kReplyLost, "reply-lost"},
    {Strike::kConflict, "conflict"},
    {Strike::kUserDeletes, "user-deletes"},
}};

constexpr int kStepsMax = 200'000;      // Of one life; some hundred are usual.
constexpr auto kRest = seconds(45);     // Nothing due for this long is rest.
constexpr auto kLifeMax = minutes(60);  // Of virtual time.
const kube::ObjectKey kDomain = {.ns = "train", .name = "job"};
const std::string kTemplate = "job-channel";

http::Response ConflictReply() {
  return {.status = 409,
          .body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict",)"
                  R"("message":"the object has been modified","code":409})"};
}

// How a branch tells its outcome.
std::string Encode(const Outcome& outcome) {
  const auto texts = [](const std::vector<std::string>& lines) {
    return json::Value::Array(json::Value::Items(lines.begin(), lines.end()));
  };
  return json::Serialize(json::Value::Object({{"violations", texts(outcome.violations)},
                                              {"struck", outcome.struck},
                                              {"requests", outcome.requests},
                                              {"trace", texts(outcome.trace)}}));
}

Outcome Decode(const base::Result<std::string>& report) {
  const auto told = report.and_then([](const std::string& text) { return json::Parse(text); });
  if (!told) return {.violations = {told.error().message}};
  Outcome outcome = {.struck = (*told)["struck"].AsBool(),
                     .requests = static_cast<int>((*told)["requests"].AsInt().value_or(0))};
  for (const json::Value& line : (*told)["violations"].items()) {
    outcome.violations.push_back(line.AsString());
  }
  for (const json::Value& line : (*told)["trace"].items()) {
    outcome.trace.push_back(line.AsString());
  }
  return outcome;
}

class World {
 public:
  World(const Plan& plan, bool trace) : plan_(plan), trace_(trace), random_(plan.seed) {
    cluster_.AddNamespace(kDomain.ns);
    // Two nodes of one clique, one of another, one without fabric.
    cluster_.AddNode("node-a", "c1.0");
    cluster_.AddNode("node-b", "c1.0");
    cluster_.AddNode("node-c", "c2.0");
    cluster_.AddNode("node-d", "");
    cluster_.Settle();
    start_ = cluster_.store().revision();
  }

  Outcome Live();
  // From now on lives each struck life as well, in a branch of the process.
  std::vector<Life> Sweep(std::vector<Strike> strikes);

 private:
  void StartReplica(std::size_t slot, std::map<std::string, Revision> stale);
  base::Result<http::Response> ServeRequest(const std::string& client,
                                            const http::Request& request);
  [[nodiscard]] bool Hits(Strike strike, const http::Request& request);
  void BranchOff(const http::Request& request);
  bool StepReplica(std::size_t slot);
  bool StepSomebody();
  [[nodiscard]] std::optional<Time> NextDue() const;
  void AdvanceTo(Time time);
  bool AdvanceTime();
  void RunToRest(const std::string& phase);
  void Note(std::string line) {
    if (trace_) outcome_.trace.push_back(std::move(line));
  }
  void UserDeletes() {
    Note("-- the user deletes the domain");
    cluster_.DeleteDomain(kDomain);
  }
  [[nodiscard]] bool DomainLives() {
    const ObjectPtr domain = cluster_.store().Get(Kind::kComputeDomain, kDomain);
    return domain && !domain->deleting();
  }
  void CheckQuiet();

  Plan plan_;  // A branch puts in its strike.
  const bool trace_;
  std::mt19937_64 random_;
  Cluster cluster_;
  Revision start_ = 0;
  std::vector<std::unique_ptr<Replica>> replicas_;
  Suspects suspects_;
  int processes_ = 0;
  int lease_requests_ = 0;
  bool is_quiet_ = false;  // Nothing may be sent, so nothing can be struck.
  int steps_ = 0;
  Outcome outcome_;
  std::vector<Strike> strikes_;  // That a sweep has yet to try at each request.
  std::vector<Life> struck_lives_;
  std::optional<Branch> branch_;  // In a branch: itself.
};

void World::StartReplica(std::size_t slot, std::map<std::string, Revision> stale) {
  const std::string client = "controller-" + std::to_string(++processes_);
  suspects_.clients.insert(client);
  Note("-- process " + client + " starts");
  const ReplicaOptions options = {.client = client,
                                  .elects = !plan_.two_leaders,
                                  .controller_writes = plan_.controller_writes,
                                  .rules = *RulesOf(plan_.mutant),
                                  .stale = std::move(stale),
                                  .seed = plan_.seed + static_cast<std::uint64_t>(processes_)};
  replicas_[slot] = std::make_unique<Replica>(
      cluster_.server(), options,
      [this, client](const http::Request& request) { return ServeRequest(client, request); });
}

// Whether the strike would change anything at this request.
bool World::Hits(Strike strike, const http::Request& request) {
  switch (strike) {
    case Strike::kNone:
      return false;
    case Strike::kCrashBefore:
    case Strike::kCrashAfter:
    case Strike::kReplyLost:
      return true;
    case Strike::kConflict:
      return request.method != http::Method::kGet;
    case Strike::kUserDeletes:
      return DomainLives();
  }
  return false;
}

void World::BranchOff(const http::Request& request) {
  for (const Strike strike : strikes_) {
    if (!Hits(strike, request)) continue;
    Plan plan = plan_;
    plan.strike = strike;
    plan.at = outcome_.requests;
    const Branch branch = Branch::Begin();
    if (branch.IsHere()) {
      plan_ = plan;
      branch_ = branch;
      strikes_.clear();
      struck_lives_.clear();
      return;
    }
    struck_lives_.push_back({.plan = plan, .outcome = Decode(branch.report())});
  }
}

std::vector<Life> World::Sweep(std::vector<Strike> strikes) {
  strikes_ = std::move(strikes);
  const Outcome outcome = Live();
  if (branch_) branch_->End(Encode(outcome));
  struck_lives_.push_back({.plan = plan_, .outcome = outcome});
  return std::move(struck_lives_);
}

base::Result<http::Response> World::ServeRequest(const std::string& client,
                                                 const http::Request& request) {
  // Renewals of the Lease are one request over and over; the first ones stand for all.
  constexpr int kLeaseRequests = 4;
  const bool is_lease = request.path.find("/leases") != std::string::npos;
  const bool counts = !is_quiet_ && (!is_lease || ++lease_requests_ <= kLeaseRequests);
  if (counts) {
    ++outcome_.requests;
    BranchOff(request);
  }
  const bool strikes = counts && outcome_.requests == plan_.at && Hits(plan_.strike, request);
  const std::string text = client + " " + std::string(http::ToString(request.method)) + " " +
                           request.path + (strikes ? "   <- struck" : "");
  if (!strikes) {
    http::Response response = cluster_.server().Handle(client, request);
    if (counts) Note(text + " " + std::to_string(response.status));
    return response;
  }
  Note(text);
  outcome_.struck = true;
  switch (plan_.strike) {
    case Strike::kNone:
      break;
    case Strike::kCrashBefore:
      throw Replica::ProcessDied();
    case Strike::kCrashAfter:
      (void)cluster_.server().Handle(client, request);
      throw Replica::ProcessDied();
    case Strike::kReplyLost: {
      (void)cluster_.server().Handle(client, request);
      const bool is_write = request.method != http::Method::kGet;
      return base::Fail(
          is_write ? base::ErrorCode::kUnknownOutcome : base::ErrorCode::kDeadlineExceeded,
          "the reply was lost");
    }
    case Strike::kConflict:
      return ConflictReply();
    case Strike::kUserDeletes:
      UserDeletes();
      break;
  }
  return cluster_.server().Handle(client, request);
}

bool World::StepReplica(std::size_t slot) {
  try {
    return replicas_[slot]->Step();
  } catch (const Replica::ProcessDied&) {
    std::map<std::string, Revision> stale;
    if (!plan_.stale.empty()) stale[plan_.stale] = start_;
    replicas_[slot].reset();
    StartReplica(slot, std::move(stale));
    return true;
  }
}

bool World::StepSomebody() {
  CHECK(++steps_ < kStepsMax);
  bool moved = false;
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) {
    // One replica goes a step at a time; of two the seed says how many each makes before the other.
    const std::uint64_t steps = plan_.two_leaders ? random_() % 4 : 1;
    for (std::uint64_t i = 0; i < steps; ++i) moved = StepReplica(slot) || moved;
  }
  for (const auto& peer : cluster_.peers()) {
    // With two leaders the cluster too moves at its own pace.
    if (plan_.two_leaders && random_() % 2 == 0) continue;
    moved = peer->Step(cluster_.now()) || moved;
  }
  if (moved || !plan_.two_leaders) return moved;
  // Nobody moved, perhaps because nobody was asked.
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) moved = StepReplica(slot) || moved;
  return cluster_.Settle() > 0 || moved;
}

// When something is due next, of anybody.
std::optional<Time> World::NextDue() const {
  std::optional<Time> due = cluster_.NextDue();
  for (const auto& replica : replicas_) {
    if (const auto next = replica->NextDue(); next && (!due || *next < *due)) due = next;
  }
  return due;
}

void World::AdvanceTo(Time time) {
  constexpr auto kTick = std::chrono::microseconds(1'000);  // Time never stands still.
  cluster_.Advance(std::max<std::chrono::microseconds>(time - cluster_.now(), kTick));
}

// To the next moment at which something is due; false if that is rest.
bool World::AdvanceTime() {
  const Time horizon = cluster_.now() + kRest;
  const std::optional<Time> peers_due = cluster_.NextDue();
  const bool peers_rest = !peers_due || *peers_due > horizon;
  const bool replicas_rest = std::ranges::all_of(
      replicas_, [&](const auto& replica) { return replica->IsAtRest(horizon); });
  if (peers_rest && replicas_rest) return false;
  const std::optional<Time> due = NextDue();
  if (due) AdvanceTo(*due);
  return due.has_value();
}

void World::RunToRest(const std::string& phase) {
  const Time end = cluster_.now() + kLifeMax;
  for (;;) {
    while (StepSomebody()) {
    }
    if (cluster_.now() > end) {
      outcome_.violations.push_back("L1: no rest within an hour while " + phase);
      return;
    }
    if (AdvanceTime()) continue;
    // At rest with an old view: the servers catch up, and it must come right.
    bool caught_up = false;
    for (const auto& replica : replicas_) caught_up = replica->CatchUp() || caught_up;
    if (!caught_up) return;
  }
}

void World::CheckQuiet() {
  is_quiet_ = true;
  const std::size_t since = cluster_.server().requests().size();
  // Long once for each workload and manner; what follows a strike or a race shows within a minute.
  const bool is_plain = plan_.strike == Strike::kNone && !plan_.two_leaders;
  const Time end = cluster_.now() + (is_plain ? minutes(15) : minutes(1));
  while (cluster_.now() < end) {
    AdvanceTo(std::min(NextDue().value_or(end), end));
    while (StepSomebody()) {
    }
  }
  is_quiet_ = false;
  for (std::string& violation : QuietAtRest(cluster_.server(), suspects_, since)) {
    outcome_.violations.push_back(std::move(violation));
  }
}

Outcome World::Live() {
  replicas_.resize(plan_.two_leaders ? 2 : 1);
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) StartReplica(slot, {});
  cluster_.CreateDomain(kDomain, kTemplate);
  Workload& workload = cluster_.AddWorkload({.ns = kDomain.ns, .name = "pods"}, kTemplate,
                                            {"node-a", "node-b", "node-c", "node-d"});
  RunToRest("the domain forms");
  const auto check = [&](const Violations& found) {
    outcome_.violations.insert(outcome_.violations.end(), found.begin(), found.end());
  };
  check(CheckRest(cluster_.server(), suspects_));

  workload.Finish();
  if (plan_.workload == "W3") {
    // A new domain takes the name as soon as the old one is gone.
    if (DomainLives()) UserDeletes();
    while (cluster_.store().Get(Kind::kComputeDomain, kDomain)) {
      if (!StepSomebody() && !AdvanceTime()) break;
    }
    if (!cluster_.store().Get(Kind::kComputeDomain, kDomain)) {
      Note("-- a new domain of the same name");
      cluster_.CreateDomain(kDomain, kTemplate);
    }
    RunToRest("the second domain forms");
    check(CheckRest(cluster_.server(), suspects_));
  } else {
    RunToRest("the workload ends");
  }
  CheckQuiet();
  if (DomainLives()) UserDeletes();
  RunToRest("the domain goes");
  CheckQuiet();
  if (cluster_.store().Get(Kind::kComputeDomain, kDomain)) {
    outcome_.violations.emplace_back("L2: the domain is still there at the end of its life");
  }
  check(CheckRest(cluster_.server(), suspects_));
  check(CheckSafety(cluster_.server(), suspects_));
  if (trace_) {
    for (const auto& replica : replicas_) {
      for (const std::string& line : replica->logger().lines()) Note("log: " + line);
    }
  }
  return std::move(outcome_);
}

}  // namespace

std::string ToString(const Plan& plan) {
  std::string text = "workload=" + plan.workload;
  text += plan.controller_writes ? " manner=cdom" : " manner=reference";
  for (const auto& [strike, name] : kStrikeNames) {
    if (strike == plan.strike) text += " strike=" + std::string(name);
  }
  text += " at=" + std::to_string(plan.at);
  if (!plan.stale.empty()) text += " stale=" + plan.stale;
  if (plan.two_leaders) text += " leaders=2";
  text += " seed=" + std::to_string(plan.seed);
  if (!plan.mutant.empty()) text += " mutant=" + plan.mutant;
  return text;
}

Plan ParsePlan(const std::vector<std::string>& words, std::string& error) {
  Plan plan;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const bool is_number = !value.empty() && value.size() < 10 &&
                           value.find_first_not_of("0123456789") == std::string::npos;
    if (name == "workload" && (value == "W1" || value == "W3")) {
      plan.workload = value;
    } else if (name == "manner" && (value == "cdom" || value == "reference")) {
      plan.controller_writes = value == "cdom";
    } else if (name == "at" && is_number) {
      plan.at = std::stoi(value);
    } else if (name == "seed" && is_number) {
      plan.seed = std::stoull(value);
    } else if (name == "leaders" && (value == "1" || value == "2")) {
      plan.two_leaders = value == "2";
    } else if (name == "stale") {
      plan.stale = value;
    } else if (name == "mutant" && RulesOf(value) != nullptr) {
      plan.mutant = value;
    } else if (const auto it = std::ranges::find(kStrikeNames, value,
                                                 &std::pair<Strike, std::string_view>::second);
               name == "strike" && it != kStrikeNames.end()) {
      plan.strike = it->first;
    } else {
      error = "'" + word + "' is not part of a plan, such as: " + ToString(Plan());
    }
  }
  return plan;
}

Outcome Live(const Plan& plan, bool trace) { return World(plan, trace).Live(); }

std::vector<Life> Sweep(const Plan& base, std::vector<Strike> strikes, bool trace) {
  CHECK(!strikes.empty() && base.strike == Strike::kNone);
  Plan plan = base;
  plan.strike = strikes.front();  // At no request, but a life that may be struck.
  return World(plan, trace).Sweep(std::move(strikes));
}

}  // namespace simulation
