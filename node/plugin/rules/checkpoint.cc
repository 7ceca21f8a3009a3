#include "node/plugin/rules/checkpoint.h"

#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include "node/plugin/rules/go_json.h"
#include "pkg/json/scanner.h"
#include "pkg/json/slices.h"
#include "pkg/json/value.h"

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

// Passes the views to `put` piece by piece.

template <typename Put>
void PutClaim(const CheckpointClaim& claim, Put put) {
  put(R"("status":)");
  put(claim.status.text());
  if (claim.groups.empty()) return;
  put(R"(,"preparedDevices":)");
  put(GoJson(ToJson(claim.groups)));
}

template <typename Put>
void PutText(std::string_view name, const std::string& value, Put put) {
  if (value.empty()) return;
  put(name);
  put(GoJson(value));
}

template <typename Put>
void PutV1(const Checkpoint& checkpoint, Put put) {
  std::string_view start = R"({"preparedClaims":{)";
  for (const auto& [uid, claim] : checkpoint.claims) {
    if (claim.state != ClaimState::kCompleted) continue;
    put(std::exchange(start, ","));
    put(GoJson(uid));
    put(":{");
    PutClaim(claim, put);
    put("}");
  }
  put(start == "," ? "}}" : "{}");
}

template <typename Put>
void PutV2(const Checkpoint& checkpoint, std::uint32_t checksum, Put put) {
  put(R"({"checksum":)");
  put(std::to_string(checksum));
  std::string_view start = R"(,"preparedClaims":{)";
  for (const auto& [uid, claim] : checkpoint.claims) {
    put(std::exchange(start, ","));
    put(GoJson(uid));
    put(R"(:{"checkpointState":)");
    put(GoJson(NameOf(claim.state)));
    put(",");
    PutClaim(claim, put);
    PutText(R"(,"name":)", claim.name, put);
    PutText(R"(,"namespace":)", claim.ns, put);
    PutText(R"(,"abortedAt":)", claim.aborted_at, put);
    put("}");
  }
  if (start == ",") put("}");
  PutText(R"(,"nodeBootID":)", checkpoint.boot_id, put);
  put("}");
}

// The reference's checksum of a text that comes in pieces.
class Summer {
 public:
  Summer() { Hash("([]uint8)["); }
  void Add(std::string_view text) {
    for (const char c : text) {
      if (size_++ > 0) Hash(" ");
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 100) Hash(byte / 100);
      if (byte >= 10) Hash(byte / 10 % 10);
      Hash(byte % 10);
    }
  }
  // Ends the text.
  std::uint32_t Sum() {
    Hash("]");
    return hash_;
  }
  std::size_t size() const { return size_; }

 private:
  void Hash(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x01000193U;
  }
  void Hash(int digit) { hash_ = (hash_ ^ static_cast<unsigned>('0' + digit)) * 0x01000193U; }

  std::uint32_t hash_ = 0x811c9dc5;
  std::size_t size_ = 0;
};

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

// Returns null if the text is no JSON.
Value ValueOf(std::string_view text) { return json::Parse(text).value_or(Value()); }

// An entry of the file.
struct Entry {
  CheckpointClaim claim = {};
  std::string damage = {};  // Why a part of it is unreadable. Empty if all of it is readable.
};

base::Result<ClaimStatus> StatusOf(std::string_view entry) {
  return ClaimStatus::Decode(TRY(OwnPart(json::SliceOf(entry, "status"))));
}

Entry DecodeEntry(std::string_view text, bool is_v1) {
  Entry entry;
  CheckpointClaim& claim = entry.claim;
  claim.name = json::TextOf(text, "name");
  claim.ns = json::TextOf(text, "namespace");
  claim.aborted_at = json::TextOf(text, "abortedAt");
  if (claim.aborted_at.empty()) claim.aborted_at = json::TextOf(text, "unpreparedAt");
  const auto status = StatusOf(text);
  if (status) claim.status = *status;
  if (!status) entry.damage = status.error().message;
  const auto state =
      is_v1 ? ClaimState::kCompleted : StateOf(json::TextOf(text, "checkpointState"));
  // Before 25.3 an entry is the list of its devices.
  auto groups =
      DecodeGroups(ValueOf(text.starts_with('[') ? text : json::SliceOf(text, "preparedDevices")));
  if (state && groups) {
    claim.state = *state;
    claim.groups = *std::move(groups);
  } else {
    entry.damage = state ? groups.error().message : "its state is unknown";
    claim.status = {};
  }
  return entry;
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

std::uint32_t SumOf(std::initializer_list<std::string_view> pieces) {
  Summer summer;
  for (const std::string_view piece : pieces) summer.Add(piece);
  return summer.Sum();
}

bool IsV1Whole(const Parts& parts) {
  const std::string_view name = parts.v1 ? R"(,"v1":)" : "";
  return SumOf({kSum, "0", name, parts.v1.value_or(""), "}"}) == parts.checksum;
}

bool IsV2Whole(std::string_view v2) {
  if (!Take(v2, kSum)) return false;
  const auto checksum = TakeNumber(v2);
  return checksum && SumOf({kSum, "0", v2}) == *checksum;
}

std::string BootOf(const Parts& parts) {
  return parts.v2 ? json::TextOf(*parts.v2, "nodeBootID") : "";
}

using UseEntry = std::function<void(const std::string& uid, Entry entry)>;

Result<void> ForEachEntry(const Parts& parts, const UseEntry& use) {
  if (!IsV1Whole(parts) || (parts.v2 && !IsV2Whole(*parts.v2))) {
    return Invalid("its checksum differs: something changed it");
  }
  const bool is_v1 = !parts.v2;
  const std::string_view view = is_v1 ? parts.v1.value_or("{}") : *parts.v2;
  return json::ForEachSlice(json::SliceOf(view, "preparedClaims"),
                            [&](std::string_view name, std::string_view value) {
                              const auto uid = json::Parse("\"" + std::string(name) + "\"");
                              Entry entry = DecodeEntry(value, is_v1);
                              if (!uid) entry.damage = uid.error().message;
                              use(uid ? uid->AsString() : std::string(name), std::move(entry));
                            });
}

Result<Parts> CutWhole(std::string_view text) {
  const auto parts = Cut(text);
  if (!parts) return Invalid("it is not a checkpoint, or its end is missing");
  return *parts;
}

}  // namespace

std::uint32_t Checksum(std::string_view json) { return SumOf({json}); }

std::string Encode(const Checkpoint& checkpoint) {
  constexpr std::string_view kV1 = R"(,"v1":)";
  constexpr std::string_view kV2 = R"(,"v2":)";
  Summer v1;
  for (const std::string_view piece : {kSum, std::string_view("0"), kV1}) v1.Add(piece);
  PutV1(checkpoint, [&](std::string_view piece) { v1.Add(piece); });
  v1.Add("}");
  Summer v2;
  PutV2(checkpoint, 0, [&](std::string_view piece) { v2.Add(piece); });
  std::string text(kSum);
  constexpr std::size_t kChecksums = 32;
  text.reserve(v1.size() + v2.size() + kV2.size() + kChecksums);
  const auto put = [&](std::string_view piece) { text += piece; };
  put(std::to_string(v1.Sum()));
  put(kV1);
  PutV1(checkpoint, put);
  put(kV2);
  PutV2(checkpoint, v2.Sum(), put);
  put("}");
  return text;
}

Result<Checkpoint> DecodeCheckpoint(std::string_view text) {
  const Parts parts = TRY(CutWhole(text));
  Checkpoint checkpoint = {.boot_id = BootOf(parts)};
  Result<void> done = {};
  TRY(ForEachEntry(parts, [&](const std::string& uid, Entry entry) {
    if (done && !entry.damage.empty()) done = Invalid("claim " + uid + ": " + entry.damage);
    checkpoint.claims.insert_or_assign(uid, std::move(entry.claim));
  }));
  TRY(std::move(done));
  return checkpoint;
}

Result<void> CheckReadable(std::string_view text, const Checkpoint& checkpoint) {
  const Parts parts = TRY(CutWhole(text));
  std::size_t found = 0;
  std::string differing;
  TRY(ForEachEntry(parts, [&](const std::string& uid, const Entry& entry) {
    const auto it = checkpoint.claims.find(uid);
    const bool is_same =
        it != checkpoint.claims.end() && entry.damage.empty() && entry.claim == it->second;
    if (is_same) ++found;
    if (!is_same) differing = uid;
  }));
  if (differing.empty() && found == checkpoint.claims.size() &&
      BootOf(parts) == checkpoint.boot_id) {
    return {};
  }
  return Invalid("the checkpoint would not be read as it is" +
                 (differing.empty() ? "" : ": claim " + differing));
}

Resumed Resume(const std::optional<std::string>& text, const std::string& boot_id) {
  Resumed resumed = {.checkpoint = {.boot_id = boot_id}};
  if (!text) return resumed;
  const auto parts = CutWhole(*text);
  // Older plugins did not store the boot ID.
  const std::string boot = parts ? BootOf(*parts) : "";
  if (!boot.empty() && boot != boot_id) {
    resumed.from = Resumed::From::kOtherBoot;
    return resumed;
  }
  const auto read_entries = [&]() -> base::Result<void> {
    if (!parts) return tl::unexpected(parts.error());
    return ForEachEntry(*parts, [&](const std::string& uid, Entry entry) {
      if (!entry.damage.empty()) resumed.damaged.push_back(uid + ": " + entry.damage);
      resumed.checkpoint.claims.insert_or_assign(uid, std::move(entry.claim));
    });
  };
  const auto read = read_entries();
  resumed.from = read ? Resumed::From::kThisBoot : Resumed::From::kUnreadable;
  if (!read) {
    resumed.checkpoint.claims.clear();
    resumed.why = read.error().message;
  }
  return resumed;
}

}  // namespace plugin
