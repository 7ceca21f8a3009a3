#include "test/simulation/oracles/end_state.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/report.h"

namespace simulation {

namespace {

using json::Value;
using std::chrono::microseconds;

constexpr std::string_view kLeftOut[] = {
    "uid",          "resourceVersion",   "generation",         "observedGeneration",
    "index",        "creationTimestamp", "lastTransitionTime", "deletionTimestamp",
    "managedFields"};
// Of annotations, those that carry times and generations, and how it was when last written.
constexpr std::string_view kAnnotationsLeftOut[] = {"cdom.dev/held-indices", "cdom.dev/joining",
                                                    "cdom.dev/repaired-generation"};

// Without the generation that it was of.
std::string HashOf(const Value& metadata) {
  const std::string& stamp = At(metadata, {"annotations", kTemplateHashAnnotation}).AsString();
  return stamp.substr(0, stamp.find(':'));
}

// What is generated, and what is said instead: of a domain's UID its name and how many of that name
// there were, of the name of a pod or a claim what it was generated from.
using Names = std::vector<std::pair<std::string, std::string>>;

// The hash of a template is one of its domain's UID, too: it is said which of its child's it is.
void NameHashes(const History& history, Names& names) {
  std::map<std::string, std::vector<std::string>> hashes;  // By child.
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate}) {
    for (const std::size_t place : history.ChangesOf(kind)) {
      const Object& object = *history.changes()[place].after;
      const std::string hash = HashOf(object.meta());
      const std::string child =
          Describe(kind).resource.kind + object.Label(kDomainLabel) + object.Label(kTargetLabel);
      std::vector<std::string>& known = hashes[child];
      if (hash.empty() || std::ranges::find(known, hash) != known.end()) continue;
      known.push_back(hash);
      names.emplace_back(hash, "hash " + std::to_string(known.size()));
    }
  }
}

Names NameGenerated(const History& history) {
  Names names;
  std::map<kube::ObjectKey, int> count;
  // The names of pods and claims first, for they may contain a UID.
  for (const Kind kind : {Kind::kClaim, Kind::kPod, Kind::kComputeDomain}) {
    for (const std::size_t place : history.ChangesOf(kind)) {
      const Change& change = history.changes()[place];
      if (change.type != Change::Type::kAdded) continue;
      const kube::ObjectKey& key = change.after->key();
      const std::string& from = change.after->meta()["generateName"].AsString();
      if (kind == Kind::kComputeDomain) {
        names.emplace_back(change.after->uid(),
                           kube::ToString(key) + "#" + std::to_string(++count[key]));
      } else if (!from.empty()) {
        names.emplace_back(key.name, from + "*");
      }
    }
  }
  NameHashes(history, names);
  return names;
}

std::string Rename(std::string text, const Names& names) {
  for (const auto& [generated, name] : names) {
    for (std::size_t at = text.find(generated); at != std::string::npos;
         at = text.find(generated, at)) {
      text.replace(at, generated.size(), name);
    }
  }
  return text;
}

// What the scheduler says of a pod that waits is read by name, and ever more rarely: who was
// refused once has not read it yet.
void LeaveOutSchedulersWords(Value& condition) {
  const std::string& message = condition["message"].AsString();
  const std::size_t at = message.find("Waiting for a node: ");
  if (at == std::string::npos) return;
  condition["message"] = message.substr(0, at);
  const std::string& reason = condition["reason"].AsString();
  if (reason == "NoChannelFree" || reason == "ChannelHeld") condition["reason"] = "PodsWaiting";
}

// That IMEX was started again under a job is known to a process that saw both instances. One that
// was started since keeps it only if the first one has said it. L1 compares MemoryShared.
void LeaveOutWhatOneProcessSaw(Value& condition) {
  const std::string message = condition["message"].AsString();
  const std::string_view last = "read the log of the daemon there.";
  const std::size_t from = message.find("IMEX was started again under pods that use it");
  const std::size_t to = message.find(last, from);
  if (from == std::string::npos || to == std::string::npos) return;
  condition["message"] = message.substr(0, from) + message.substr(to + last.size());
  if (condition["reason"].AsString() == "ImexRestartedUnderJob") {
    const bool spans = message.find("Members in use are in") != std::string::npos;
    condition["reason"] = spans ? "SpansCliques" : "AllMembersReady";
    condition["status"] = "True";
  }
}

// "12:09:00": when something happened, or will, which a fault puts off.
bool IsTimeOfDay(std::string_view word) {
  return word.size() == 8 && word[2] == ':' && word[5] == ':' &&
         word.find_first_not_of("0123456789:") == std::string_view::npos;
}

// Sentences name members in the order of their indices, and indices may be others.
void SortNames(Value& condition) {
  std::istringstream text(condition["message"].AsString());
  const bool names_indices = text.str().find("with another index") != std::string::npos;
  std::vector<std::string> words;
  for (std::string word; text >> word;) {
    std::erase_if(word, [](char c) { return c == ',' || c == '.' || c == ';'; });
    const bool is_index = word.find_first_not_of("0123456789)") == std::string::npos;
    const bool is_kept = !IsTimeOfDay(word) && (!names_indices || !is_index);
    if (is_kept) words.push_back(std::move(word));
  }
  std::ranges::sort(words);
  Value sorted = Value::Array();
  for (std::string& word : words) sorted.Append(std::move(word));
  condition["message"] = std::move(sorted);
}

void NormalizeAnnotations(Value& metadata) {
  Value& annotations = metadata["annotations"];
  for (const std::string_view name : kAnnotationsLeftOut) annotations.Erase(name);
  if (const std::string hash = HashOf(metadata); !hash.empty()) {
    annotations[kTemplateHashAnnotation] = hash;
  }
  if (annotations.members().empty()) metadata.Erase("annotations");
}

// Lists are in the order of what they hold, for members stand in that of their indices.
void Normalize(Value& value) {
  if (value.IsObject()) {
    for (const std::string_view name : kLeftOut) value.Erase(name);
    if (value.Find("annotations") != nullptr) NormalizeAnnotations(value);
    // One of a set's pods is as good as another.
    const Value* kind = value.Find("kind");
    if (kind != nullptr && kind->AsString() == "Pod") value.Erase("name");
    for (auto& [name, member] : value.MutableMembers()) Normalize(member);
    std::ranges::sort(value.MutableMembers(), {}, [](const auto& item) { return item.first; });
  } else if (value.IsArray()) {
    for (Value& item : value.MutableItems()) Normalize(item);
    std::ranges::sort(value.MutableItems(), {},
                      [](const Value& item) { return json::Serialize(item); });
  }
}

std::string Tell(Kind kind, const Object& object) {
  const std::string what = Describe(kind).resource.kind + " ";
  if (kind == Kind::kNode) {
    const std::string& domain = object.Label(kDomainLabel);
    return what + object.key().name + " of " + (domain.empty() ? "nobody" : domain);
  }
  if (kind == Kind::kPod) {
    return what + "of " + object.Label(kDomainLabel) + " on " + TargetNode(object) +
           (IsPodReady(object) ? " ready" : " not ready") + (object.deleting() ? ", ending" : "");
  }
  Value value = object.value();
  if (kind == Kind::kComputeDomain && value["status"].Find("conditions") != nullptr) {
    // The first says what happened in the last minutes.
    std::erase_if(value["status"]["conditions"].MutableItems(), [](const Value& condition) {
      const std::string& type = condition["type"].AsString();
      return type == "Conflicted" || type == "MemoryShared";
    });
    for (Value& condition : value["status"]["conditions"].MutableItems()) {
      LeaveOutSchedulersWords(condition);
      LeaveOutWhatOneProcessSaw(condition);
      SortNames(condition);
    }
  }
  Normalize(value);
  return what + json::Serialize(value);
}

bool Matters(Kind kind, const Object& object, const SystemUnderTest& system) {
  switch (kind) {
    case Kind::kComputeDomain:
    case Kind::kDaemonSet:
    case Kind::kClaimTemplate:
    case Kind::kClique:
    case Kind::kNode:
      return true;
    case Kind::kPod:
      return object.key().ns == system.driver_namespace;
    default:
      return false;
  }
}

// The first line that only one of them has.
std::string Difference(const EndState& state, const EndState& expected) {
  EndState more;
  std::ranges::set_difference(state, expected, std::back_inserter(more));
  EndState less;
  std::ranges::set_difference(expected, state, std::back_inserter(less));
  return "there is " + (more.empty() ? "nothing" : more.front()) + " instead of " +
         (less.empty() ? "nothing" : less.front());
}

}  // namespace

EndState DescribeEnd(const ApiServer& server, const SystemUnderTest& system) {
  const History& history = server.store().history();
  const Names names = NameGenerated(history);
  EndState state;
  for (const Kind kind : kAllKinds) {
    for (const auto& [key, object] : history.Live(kind)) {
      if (Matters(kind, *object, system)) state.push_back(Rename(Tell(kind, *object), names));
    }
  }
  std::ranges::sort(state);
  return state;
}

Deeds CountDeeds(const ApiServer& server, const SystemUnderTest& system) {
  Deeds deeds;
  for (const Change& change : server.store().history().changes()) {
    const bool is_child = change.kind == Kind::kDaemonSet || change.kind == Kind::kClaimTemplate ||
                          change.kind == Kind::kClique;
    const bool is_pod = change.kind == Kind::kPod && system.clients.contains(change.actor);
    if (!is_child && !is_pod) continue;
    const std::string& kind = Describe(change.kind).resource.kind;
    if (change.type == Change::Type::kAdded) ++deeds["created " + kind];
    const bool ends = change.before && !change.before->deleting() &&
                      (change.type == Change::Type::kDeleted || change.after->deleting());
    if (ends) ++deeds["deleted " + kind];
  }
  return deeds;
}

Violations SameEnd(const Course& course, const Course& expected, bool so_far) {
  Violations violations;
  if (course.rests.size() != expected.rests.size() && !so_far) {
    violations.push_back("D1 SameEnd: it came to rest " + std::to_string(course.rests.size()) +
                         " times instead of " + std::to_string(expected.rests.size()));
  }
  const std::size_t rests = std::min(course.rests.size(), expected.rests.size());
  for (std::size_t i = 0; i < rests; ++i) {
    if (course.rests[i] == expected.rests[i]) continue;
    violations.push_back("D1 SameEnd: at rest " + std::to_string(i + 1) + " of " +
                         std::to_string(rests) + " " +
                         Difference(course.rests[i], expected.rests[i]));
  }
  return violations;
}

Violations SameTime(const Course& course, const Course& expected, std::chrono::seconds later) {
  Violations violations;
  const std::size_t rests = std::min(course.times.size(), expected.times.size());
  for (std::size_t i = 0; i < rests; ++i) {
    const auto phase = [&](const std::vector<microseconds>& times) {
      return times[i] - (i == 0 ? microseconds(0) : times[i - 1]);
    };
    const auto took = phase(course.times);
    const auto usual = phase(expected.times);
    if (took <= usual + later) continue;
    violations.push_back("L1 SameTime: it came to rest " + std::to_string(i + 1) + " of " +
                         std::to_string(rests) + " after " + InMilliseconds(took) + " instead of " +
                         InMilliseconds(usual));
  }
  return violations;
}

Violations SameDeeds(const Course& course, const Course& expected) {
  Violations violations;
  const std::size_t rests = std::min(course.deeds.size(), expected.deeds.size());
  if (rests == 0) return violations;
  const Deeds& done = course.deeds[rests - 1];
  const Deeds& wanted = expected.deeds[rests - 1];
  std::set<std::string> all;
  for (const Deeds* deeds : {&done, &wanted}) {
    for (const auto& [deed, count] : *deeds) all.insert(deed);
  }
  for (const std::string& deed : all) {
    const auto count = [&](const Deeds& of) {
      const auto it = of.find(deed);
      return it == of.end() ? 0 : it->second;
    };
    // What a fault delays, a user may not find to delete; D1 shows what is missing in the end.
    if (count(done) <= count(wanted)) continue;
    violations.push_back("D2 SameDeeds: " + deed + " " + std::to_string(count(done)) +
                         " times instead of " + std::to_string(count(wanted)));
  }
  return violations;
}

int CountRequests(const ApiServer& server, const SystemUnderTest& system) {
  return static_cast<int>(
      std::ranges::count_if(server.requests(), [&](const RequestRecord& request) {
        const KindInfo* kind = request.target.kind;
        const bool is_lease = kind != nullptr && kind->kind == Kind::kLease;
        return system.clients.contains(request.client) && request.target.verb != "watch" &&
               !is_lease;
      }));
}

Violations FewMoreRequests(const Course& course, const Course& expected, int more) {
  const std::size_t rests = std::min(course.requests.size(), expected.requests.size());
  for (std::size_t i = 0; i < rests; ++i) {
    if (course.requests[i] <= expected.requests[i] + more) continue;
    return {"D3 FewMoreRequests: until rest " + std::to_string(i + 1) + " of " +
            std::to_string(rests) + " it sent " + std::to_string(course.requests[i]) +
            " requests instead of " + std::to_string(expected.requests[i])};
  }
  return {};
}

}  // namespace simulation
