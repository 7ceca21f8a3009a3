// What is kept of each kind of object. Of any object in JSON:
//  - it is kept if it has a name, a UID and a resourceVersion, and refused with kInvalid if not;
//  - both readers see the same in it, as the API server sent it and as we would write it;
//  - a kind that is held packed comes out of its packed form as it went in.
#include "controller/api/packed.h"
#include "controller/compute_domain/requests/action_requests.h"
#include "pkg/json/repair.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/api/names.h"
#include "pkg/kube/cache/packed.h"
#include "test/fixtures/objects.h"
#include "test/fixtures/observed.h"
#include "test/fuzz/hostile.h"
#include "test/fuzz/view_text.h"

namespace {

using json::Value;

// All that is kept, as a text that is equal for what is equal.
std::string Show(const std::string& text) { return text; }
std::string Show(const kube::ObjectKey& key) { return kube::ToString(key); }
template <std::integral T>
std::string Show(T value) {
  return std::to_string(value);
}
template <typename T>
std::string Show(const std::vector<T>& values);
template <typename T>
std::string Show(const std::optional<T>& value);
template <typename T>
concept IsPacked = requires(T& object) { Fields(object); };
template <IsPacked T>
std::string Show(T object) {
  return std::apply(
      [](const auto&... fields) {
        std::string all;
        ((all += Show(fields) + "\n"), ...);
        return all;
      },
      Fields(object));
}
template <typename T>
std::string Show(const std::vector<T>& values) {
  std::string all = std::to_string(values.size());
  for (const T& value : values) all += "|" + Show(value);
  return all;
}
template <typename T>
std::string Show(const std::optional<T>& value) {
  return value ? "some " + Show(*value) : "none";
}
std::string Show(const api::Clique& clique) {
  return Show(clique.meta) + "\n" + clique.domain + "\n" + clique.id + "\n" +
         Show(clique.is_labelled) + json::Serialize(api::EncodeDaemons(clique.daemons)) +
         json::Serialize(api::EncodeHeld(clique.held)) +
         json::Serialize(api::EncodeRebooted(clique.rebooted));
}

template <typename T>
void CheckPacked(const T& object) {
  if constexpr (IsPacked<T>) {
    const kube::PackedForm<T> packed(object);
    CHECK(packed.key().ns == object.meta.key.ns && packed.key().name == object.meta.key.name);
    fuzz::CheckSame(Show(*packed.Open()), Show(object));
  }
}

template <typename T>
using Decode = base::Result<T> (*)(json::View);

// The object that the bytes are, or one of ours with the worst in it.
std::string ObjectOf(std::string_view bytes, const Value& ours) {
  if (bytes.starts_with('{')) return std::string(bytes);
  fuzz::Input input = fuzz::InputOf(bytes);
  Value object = ours;
  fuzz::Spoil(input, object);
  return fuzz::WriteWithParameters(input, std::move(object));
}

template <typename T>
std::optional<T> Keep(std::string_view bytes, const Value& ours, Decode<T> decode) {
  std::string text = ObjectOf(bytes, ours);
  json::Parser parser;
  if (!parser.Parse(text)) text = json::Repair(text);
  const auto object = parser.Parse(text);
  if (!object) return std::nullopt;
  const json::View metadata = (*object)["metadata"];
  const bool has_identity = !metadata["name"].AsString().empty() &&
                            !metadata["uid"].AsString().empty() &&
                            !metadata["resourceVersion"].AsString().empty();
  auto kept = decode(*object);
  CHECK(kept.has_value() == has_identity);
  if (!kept) {
    CHECK(kept.error().code == base::ErrorCode::kInvalid);
    return std::nullopt;
  }
  CheckPacked(*kept);

  const auto value = json::Parse(text);
  CHECK(value);
  json::Parser other;
  const auto written = other.Parse(json::Serialize(*value));
  CHECK(written);
  const auto again = decode(*written);
  CHECK(again);
  fuzz::CheckSame(Show(*again), Show(*kept));
  return *std::move(kept);
}

template <typename T>
const Value& Ours(const T& object) {
  static const Value ours = fixtures::Store(object).object;
  return ours;
}

bool IsLine(const std::string& text) { return json::OneLine(text, text.size()) == text; }

}  // namespace

// And its status, written and read, is the same, but for conditions that are none; then it stays.
FUZZ_TARGET(project_domain, bytes) {
  const auto domain =
      Keep<api::ComputeDomain>(bytes, Ours(fixtures::MakeDomain()), api::DecodeComputeDomain);
  if (!domain || domain->status.conditions.empty()) return;
  Value object = Ours(fixtures::MakeDomain());
  object["status"] = api::Encode(domain->status);
  json::Parser parser;
  const std::string text = json::Serialize(object);
  const auto read = api::DecodeComputeDomain(*parser.Parse(text));
  CHECK(read);
  CHECK(read->status == domain->status);
}

FUZZ_TARGET(project_daemon_set, bytes) {
  static_cast<void>(
      Keep<api::DaemonSet>(bytes, Ours(fixtures::MakeDaemonSet()), api::DecodeDaemonSet));
}

FUZZ_TARGET(project_claim_template, bytes) {
  static_cast<void>(Keep<api::ResourceClaimTemplate>(bytes, Ours(fixtures::MakeWorkloadTemplate()),
                                                     api::DecodeResourceClaimTemplate));
}

// And its members have names of nodes and addresses or none, its ID is a label's value; written and
// read they are the same.
FUZZ_TARGET(project_clique, bytes) {
  const auto clique = Keep<api::Clique>(bytes, Ours(fixtures::MakeClique()), api::DecodeClique);
  if (!clique) return;
  CHECK(kube::IsLabelValue(clique->id));
  for (const api::Member& member : clique->daemons) {
    CHECK(kube::IsDnsSubdomain(member.node));
    CHECK(member.ip.size() < 46 && IsLine(member.ip));
  }
  json::Value object = Ours(fixtures::MakeClique());
  object["daemons"] = api::EncodeDaemons(clique->daemons);
  json::Parser parser;
  const std::string text = json::Serialize(object);
  const auto read = api::DecodeClique(*parser.Parse(text));
  CHECK(read && read->daemons == clique->daemons);
}

// And its trouble is one line, of a reason and at most 200 bytes.
FUZZ_TARGET(project_pod, bytes) {
  const auto pod =
      Keep<api::DaemonPod>(bytes, Ours(fixtures::MakePod("node-0", 0)), api::DecodeDaemonPod);
  if (!pod) return;
  const std::size_t colon = pod->trouble.find(": ");
  if (colon != std::string::npos) CHECK(IsLine(pod->trouble.substr(colon)));
}

FUZZ_TARGET(project_claim, bytes) {
  static_cast<void>(Keep<api::ResourceClaim>(
      bytes, Ours(fixtures::MakeChannelClaim("node-0", "train-0")), api::DecodeResourceClaim));
}

FUZZ_TARGET(project_node, bytes) {
  static_cast<void>(Keep<api::Node>(bytes, Ours(fixtures::MakeNode("node-0")), api::DecodeNode));
}

// The annotation of a clique for held indices, which anybody may write:
//  - what is read of it is written as what reads the same, and then stays as it is.
FUZZ_TARGET(held_indices, bytes) {
  const auto read = [](const Value& annotation) {
    Value object = Ours(fixtures::MakeClique());
    object["metadata"]["annotations"][api::kHeldIndicesAnnotation] = annotation;
    json::Parser parser;
    const std::string text = json::Serialize(object);
    return api::DecodeClique(*parser.Parse(text))->held;
  };
  const std::vector<api::HeldIndex> held = read(std::string(bytes));
  const Value written = api::EncodeHeld(held);
  CHECK(written.IsNull() == held.empty());
  CHECK(read(written) == held);
  CHECK(api::EncodeHeld(read(written)) == written);
}
