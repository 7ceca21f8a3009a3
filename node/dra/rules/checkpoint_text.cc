#include "node/dra/rules/checkpoint_text.h"

#include <array>
#include <charconv>
#include <utility>

#include "node/dra/rules/go_json.h"
#include "pkg/json/scanner.h"
#include "pkg/json/slices.h"
#include "pkg/json/value.h"

namespace dra {

namespace {

using base::Invalid, base::Result;

using Entries = std::map<std::string, EntryText>;

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

// Passes the views to `put` piece by piece.

template <typename Put>
void PutContent(const EntryText& entry, Put put) {
  put(R"("status":)");
  put(entry.status);
  if (entry.devices.empty()) return;
  put(R"(,"preparedDevices":)");
  put(entry.devices);
}

template <typename Put>
void PutText(std::string_view name, std::string_view value, Put put) {
  if (value.empty()) return;
  put(name);
  put(GoJson(value));
}

template <typename Put>
void PutV1(const Entries& entries, Put put) {
  std::string_view start = R"({"preparedClaims":{)";
  for (const auto& [uid, entry] : entries) {
    if (entry.state != ClaimState::kCompleted) continue;
    put(std::exchange(start, ","));
    put(GoJson(uid));
    put(":{");
    PutContent(entry, put);
    put("}");
  }
  put(start == "," ? "}}" : "{}");
}

template <typename Put>
void PutV2(const Entries& entries, const std::string& boot_id, std::uint32_t checksum, Put put) {
  put(R"({"checksum":)");
  put(std::to_string(checksum));
  std::string_view start = R"(,"preparedClaims":{)";
  for (const auto& [uid, entry] : entries) {
    put(std::exchange(start, ","));
    put(GoJson(uid));
    put(R"(:{"checkpointState":)");
    put(GoJson(NameOf(entry.state)));
    put(",");
    PutContent(entry, put);
    PutText(R"(,"name":)", entry.name, put);
    PutText(R"(,"namespace":)", entry.ns, put);
    PutText(R"(,"abortedAt":)", entry.aborted_at, put);
    put("}");
  }
  if (start == ",") put("}");
  PutText(R"(,"nodeBootID":)", boot_id, put);
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

std::uint32_t SumOf(std::initializer_list<std::string_view> pieces) {
  Summer summer;
  for (const std::string_view piece : pieces) summer.Add(piece);
  return summer.Sum();
}

bool IsV2Whole(std::string_view v2) {
  if (!Take(v2, kSum)) return false;
  const auto checksum = TakeNumber(v2);
  return checksum && SumOf({kSum, "0", v2}) == *checksum;
}

EntryRead ReadEntry(std::string_view text, bool is_v1) {
  EntryRead entry = {
      .status = json::SliceOf(text, "status"),
      // Before 25.3 an entry is the list of its devices.
      .devices = text.starts_with('[') ? text : json::SliceOf(text, "preparedDevices"),
      .name = json::TextOf(text, "name"),
      .ns = json::TextOf(text, "namespace"),
      .aborted_at = json::TextOf(text, "abortedAt")};
  if (entry.aborted_at.empty()) entry.aborted_at = json::TextOf(text, "unpreparedAt");
  entry.state = is_v1 ? ClaimState::kCompleted : StateOf(json::TextOf(text, "checkpointState"));
  return entry;
}

}  // namespace

std::uint32_t Checksum(std::string_view json) { return SumOf({json}); }

std::string EncodeEntries(const Entries& entries, const std::string& boot_id) {
  constexpr std::string_view kV1 = R"(,"v1":)";
  constexpr std::string_view kV2 = R"(,"v2":)";
  Summer v1;
  for (const std::string_view piece : {kSum, std::string_view("0"), kV1}) v1.Add(piece);
  PutV1(entries, [&](std::string_view piece) { v1.Add(piece); });
  v1.Add("}");
  Summer v2;
  PutV2(entries, boot_id, 0, [&](std::string_view piece) { v2.Add(piece); });
  std::string text(kSum);
  constexpr std::size_t kChecksums = 32;
  text.reserve(v1.size() + v2.size() + kV2.size() + kChecksums);
  const auto put = [&](std::string_view piece) { text += piece; };
  put(std::to_string(v1.Sum()));
  put(kV1);
  PutV1(entries, put);
  put(kV2);
  PutV2(entries, boot_id, v2.Sum(), put);
  put("}");
  return text;
}

// The parts stand at the positions where Go's encoder writes them.
Result<CheckpointText> CheckpointText::Cut(std::string_view text) {
  const auto torn = Invalid("it is not a checkpoint, or its end is missing");
  CheckpointText parts;
  if (Take(text, kVersion)) {
    const std::size_t end = text.find('"');
    if (end > kVersionMax) return torn;
    text.remove_prefix(end);
    if (!Take(text, "\",") || !Take(text, kSum.substr(1))) return torn;
  } else if (!Take(text, kSum)) {
    return torn;
  }
  const auto checksum = TakeNumber(text);
  if (!checksum) return torn;
  parts.checksum_ = *checksum;
  if (Take(text, R"(,"v1":)")) {
    parts.v1_ = TakeObject(text);
    if (!parts.v1_) return torn;
  }
  if (Take(text, R"(,"v2":)")) {
    parts.v2_ = TakeObject(text);
    if (!parts.v2_) return torn;
  }
  if (text != "}") return torn;
  return parts;
}

bool CheckpointText::IsV1Whole() const {
  const std::string_view name = v1_ ? R"(,"v1":)" : "";
  return SumOf({kSum, "0", name, v1_.value_or(""), "}"}) == checksum_;
}

std::string CheckpointText::boot_id() const { return v2_ ? json::TextOf(*v2_, "nodeBootID") : ""; }

Result<void> CheckpointText::ForEachEntry(const std::function<void(EntryRead entry)>& use) const {
  if (!IsV1Whole() || (v2_ && !IsV2Whole(*v2_))) {
    return Invalid("its checksum differs: something changed it");
  }
  const std::string_view view = v2_ ? *v2_ : v1_.value_or("{}");
  return json::ForEachSlice(json::SliceOf(view, "preparedClaims"),
                            [&](std::string_view name, std::string_view value) {
                              const auto uid = json::Parse("\"" + std::string(name) + "\"");
                              EntryRead entry = ReadEntry(value, !v2_);
                              entry.uid = uid ? uid->AsString() : std::string(name);
                              if (!uid) entry.damage = uid.error().message;
                              use(std::move(entry));
                            });
}

}  // namespace dra
