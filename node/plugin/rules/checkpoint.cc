#include "node/plugin/rules/checkpoint.h"

#include <array>
#include <charconv>
#include <utility>

#include "node/plugin/rules/go_json.h"
#include "pkg/json/scanner.h"

namespace plugin {

namespace {

using base::Invalid, base::Result;
using json::Value;

constexpr std::array<std::pair<ClaimState, std::string_view>, 3> kStates = {
    {{ClaimState::kStarted, "PrepareStarted"},
     {ClaimState::kCompleted, "PrepareCompleted"},
     {ClaimState::kAborted, "PrepareAborted"}}};

std::string_view NameOf(ClaimState state) {
  for (const auto& [known, name] : kStates) {
    if (known == state) return name;
  }
  return {};
}

std::optional<ClaimState> StateOf(std::string_view name) {
  // From version 0.4, which kept every released claim for a while.
  if (name == "UnprepareCompleted") return ClaimState::kAborted;
  for (const auto& [state, known] : kStates) {
    if (known == name) return state;
  }
  return {};
}

// --- Writing

Value ToJson(const PreparedDevice& device) {
  Value half = Value::Object(
      {{"info", Value::Object({{"id", device.id}})},
       {"device",
        Value::Object({{"Requests", Value::ArrayOf(device.requests)},
                       {"PoolName", device.pool},
                       {"DeviceName", device.name},
                       // In Go, a list to which nothing was added is null.
                       {"CDIDeviceIDs",
                        device.cdi_ids.empty() ? Value() : Value::ArrayOf(device.cdi_ids)}})}});
  Value both = Value::Object({{"channel", Value()}, {"daemon", Value()}});
  both[NameOf(device.type)] = std::move(half);
  return both;
}

Value ToJson(const PreparedGroup& group) {
  const auto encode = [](const PreparedDevice& device) { return ToJson(device); };
  return Value::Object({{"devices", Value::ArrayOf(group.devices, encode)},
                        {"configState", Value::Object({{"Type", NameOf(group.type)},
                                                       {"ComputeDomain", group.domain}})}});
}

Value ToJson(const std::vector<PreparedGroup>& groups) {
  return Value::ArrayOf(groups, [](const PreparedGroup& group) { return ToJson(group); });
}

Value ClaimsV1(const Checkpoint& checkpoint) {
  Value claims = Value::Object();
  for (const auto& [uid, claim] : checkpoint.claims) {
    if (claim.state != ClaimState::kCompleted) continue;
    Value entry = Value::Object({{"status", CanonicalClaimStatus(claim.status)}});
    if (!claim.groups.empty()) entry["preparedDevices"] = ToJson(claim.groups);
    claims[uid] = std::move(entry);
  }
  return claims;
}

Value ClaimsV2(const Checkpoint& checkpoint) {
  Value claims = Value::Object();
  for (const auto& [uid, claim] : checkpoint.claims) {
    Value entry = Value::Object(
        {{"checkpointState", NameOf(claim.state)}, {"status", CanonicalClaimStatus(claim.status)}});
    if (!claim.groups.empty()) entry["preparedDevices"] = ToJson(claim.groups);
    if (!claim.name.empty()) entry["name"] = claim.name;
    if (!claim.ns.empty()) entry["namespace"] = claim.ns;
    if (!claim.aborted_at.empty()) entry["abortedAt"] = claim.aborted_at;
    claims[uid] = std::move(entry);
  }
  return claims;
}

// --- Reading

Result<PreparedDevice> DecodeDevice(const Value& both) {
  const bool is_channel = both["channel"].IsObject();
  const Value& half = is_channel ? both["channel"] : both["daemon"];
  const Value& device = half["device"];
  // Before 25.3, the names are those of the kubelet's messages.
  const auto field = [&](std::string_view name, std::string_view old) -> const Value& {
    return device.Find(name) != nullptr ? device[name] : device[old];
  };
  PreparedDevice decoded = {.type = is_channel ? DeviceType::kChannel : DeviceType::kDaemon,
                            .id = half["info"]["id"].AsInt().value_or(-1),
                            .requests = field("Requests", "request_names").AsTexts(),
                            .pool = field("PoolName", "pool_name").AsString(),
                            .name = field("DeviceName", "device_name").AsString(),
                            .cdi_ids = field("CDIDeviceIDs", "cdi_device_ids").AsTexts()};
  if (decoded.name.empty() || decoded.id < 0) {
    return Invalid("a prepared device has no name or no number");
  }
  return decoded;
}

Result<std::vector<PreparedGroup>> DecodeGroups(const Value& list) {
  std::vector<PreparedGroup> groups;
  for (const Value& item : list.items()) {
    PreparedGroup group;
    for (const Value& device : item["devices"].items()) {
      group.devices.push_back(TRY(DecodeDevice(device)));
    }
    const Value& state = item["configState"];
    group.domain = state["ComputeDomain"].AsString();
    group.type = state["Type"].AsString() == "daemon" ? DeviceType::kDaemon : DeviceType::kChannel;
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<CheckpointClaim> DecodeClaimV1(const Value& entry) {
  CheckpointClaim claim = {.state = ClaimState::kCompleted};
  if (entry.IsArray()) {  // Before 25.3.
    claim.groups = TRY(DecodeGroups(entry));
    return claim;
  }
  claim.status = entry["status"];
  claim.groups = TRY(DecodeGroups(entry["preparedDevices"]));
  return claim;
}

Result<CheckpointClaim> DecodeClaimV2(const Value& entry) {
  const auto state = StateOf(entry["checkpointState"].AsString());
  if (!state) return Invalid("a claim is in an unknown state");
  return CheckpointClaim{.state = *state,
                         .status = entry["status"],
                         .groups = TRY(DecodeGroups(entry["preparedDevices"])),
                         .name = entry["name"].AsString(),
                         .ns = entry["namespace"].AsString(),
                         .aborted_at = entry["abortedAt"].IsString()
                                           ? entry["abortedAt"].AsString()
                                           : entry["unpreparedAt"].AsString()};
}

using DecodeClaimOf = Result<CheckpointClaim> (*)(const Value&);

Result<Checkpoint> DecodeView(std::string_view text, DecodeClaimOf decode_claim) {
  const Value view = TRY(json::Parse(text));
  Checkpoint checkpoint = {.boot_id = view["nodeBootID"].AsString()};
  for (const auto& [uid, entry] : view["preparedClaims"].members()) {
    checkpoint.claims.emplace(uid, TRY(decode_claim(entry)));
  }
  return checkpoint;
}

// Removes `word` from the front of `text`. Returns false if it is not there.
bool Take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::uint32_t> TakeNumber(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Removes an object from the front of `text`, up to its closing bracket. Empty if there is none.
std::optional<std::string_view> TakeObject(std::string_view& text) {
  if (!text.starts_with('{')) return {};
  json::Scanner scanner;
  const auto [found, used] = scanner.Scan(text);
  if (found != json::Scanner::Found::kValue) return {};
  const std::string_view object = text.substr(0, used);
  text.remove_prefix(used);
  return object;
}

constexpr std::string_view kSum = R"({"checksum":)";
// Newer plugins write it first, without a checksum. The value has about two letters.
constexpr std::string_view kVersion = R"({"version":")";
constexpr std::size_t kVersionMax = 8;

// The parts of the file, at the positions where Go's encoder writes them.
struct Parts {
  std::uint32_t checksum = 0;
  std::optional<std::string_view> v1 = {};
  std::optional<std::string_view> v2 = {};
};

std::optional<Parts> Cut(std::string_view text) {
  Parts parts;
  if (Take(text, kVersion)) {
    const std::size_t end = text.find('"');
    if (end > kVersionMax) return {};
    text.remove_prefix(end);
    if (!Take(text, "\",") || !Take(text, kSum.substr(1))) return {};
  } else if (!Take(text, kSum)) {
    return {};
  }
  const auto checksum = TakeNumber(text);
  if (!checksum) return {};
  parts.checksum = *checksum;
  if (Take(text, R"(,"v1":)")) {
    parts.v1 = TakeObject(text);
    if (!parts.v1) return {};
  }
  if (Take(text, R"(,"v2":)")) {
    parts.v2 = TakeObject(text);
    if (!parts.v2) return {};
  }
  if (text != "}") return {};
  return parts;
}

bool IsV1Whole(const Parts& parts) {
  std::string text = std::string(kSum) + "0";
  if (parts.v1) text.append(R"(,"v1":)").append(*parts.v1);
  return Checksum(text + "}") == parts.checksum;
}

bool IsV2Whole(std::string_view v2) {
  if (!Take(v2, kSum)) return false;
  const auto checksum = TakeNumber(v2);
  return checksum && Checksum(std::string(kSum) + "0" + std::string(v2)) == *checksum;
}

}  // namespace

std::string_view NameOf(DeviceType type) {
  return type == DeviceType::kChannel ? "channel" : "daemon";
}

std::uint32_t Checksum(std::string_view json) {
  std::uint32_t hash = 0x811c9dc5;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  };
  add("([]uint8)[");
  std::string_view separator;
  for (const char c : json) {
    add(separator);
    add(std::to_string(static_cast<unsigned char>(c)));
    separator = " ";
  }
  add("]");
  return hash;
}

std::string Encode(const Checkpoint& checkpoint) {
  Value v1 = Value::Object();
  if (Value claims = ClaimsV1(checkpoint); !claims.members().empty()) {
    v1["preparedClaims"] = std::move(claims);
  }
  Value v2 = Value::Object({{"checksum", 0}});
  if (!checkpoint.claims.empty()) v2["preparedClaims"] = ClaimsV2(checkpoint);
  if (!checkpoint.boot_id.empty()) v2["nodeBootID"] = checkpoint.boot_id;
  v2["checksum"] = Checksum(GoJson(v2));
  Value whole = Value::Object({{"checksum", 0}, {"v1", std::move(v1)}});
  whole["checksum"] = Checksum(GoJson(whole));
  whole["v2"] = std::move(v2);
  return GoJson(whole);
}

Result<Checkpoint> DecodeCheckpoint(std::string_view text) {
  const auto parts = Cut(text);
  if (!parts) return Invalid("it is not a checkpoint, or its end is missing");
  if (!IsV1Whole(*parts) || (parts->v2 && !IsV2Whole(*parts->v2))) {
    return Invalid("its checksum differs: something changed it");
  }
  if (parts->v2) return DecodeView(*parts->v2, DecodeClaimV2);
  if (parts->v1) return DecodeView(*parts->v1, DecodeClaimV1);
  return Checkpoint();
}

Resumed Resume(const std::optional<std::string>& text, const std::string& boot_id) {
  Resumed resumed = {.checkpoint = {.boot_id = boot_id}};
  if (!text) return resumed;
  auto found = DecodeCheckpoint(*text);
  if (!found) {
    resumed.from = Resumed::From::kUnreadable;
    resumed.why = found.error().message;
    return resumed;
  }
  // Older plugins did not store the boot ID.
  if (!found->boot_id.empty() && found->boot_id != boot_id) {
    resumed.from = Resumed::From::kOtherBoot;
    return resumed;
  }
  resumed.from = Resumed::From::kThisBoot;
  resumed.checkpoint.claims = std::move(found->claims);
  return resumed;
}

}  // namespace plugin
