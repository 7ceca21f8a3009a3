#include "test/fuzz/hostile.h"

#include <array>
#include <utility>

#include "test/fixtures/observed.h"

namespace fuzz {

using json::Value;

namespace {

std::string Repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

const std::vector<std::string>& SchedulerMessages() {
  static const std::vector<std::string> words = {
      "",
      fixtures::kUid,
      fixtures::kOtherUid,
      fixtures::kCliqueId,
      fixtures::kOtherCliqueId,
      fixtures::kUserNs,
      fixtures::kDriverNs,
      fixtures::kTemplateName,
      fixtures::kDaemonName,
      fixtures::kUid + "." + fixtures::kCliqueId,
      "node-0",
      "node-1",
      "train-0",
      "pods/train-0",
      "pod-node-0",
      "daemon-set",
      "10.0.0.1",
      "::1",
      "channel-0",
      "True",
      "False",
      "Unknown",
      "Ready",
      "NotReady",
      "Running",
      "Succeeded",
      "Failed",
      "Pod",
      "DaemonSet",
      "Daemon",
      "Workload",
      "All",
      "Single",
      "Always",
      "WhenIdle",
      "true",
      "controller",
      "PodScheduled",
      "NoSchedule",
      "CrashLoopBackOff",
      "NV_ERR_IN_USE",
      "0/3 nodes are available: 3 cannot allocate all claims.",
      "90s",
      "1001h",
      "0",
      "node-0=3@2026-01-01T12:00:30Z,node-1=0@2025-01-01T00:00:00Z,=,@,node-2=-1@",
      "0123456789abcdef:1",
      "2026-01-01T11:59:59Z",
      "0000-01-01T00:00:00Z",
      "9999-12-31T23:59:60Z",
      "2026-02-30T00:00:00Z",
      "a\nb\r\n\tc",
      "\x1b[31mred\x1b[0m",
      "\xE2\x80\xAE right to left",
      "\xC2\x9B C1",
      std::string("\0", 1),
      "\xF0\x9F\x98\x80",
      "\xE2\x82",
      "\xED\xA0\x80",
      "\xFF\xFE",
      "../../etc",
      "..",
      "a/b?c#d%2e",
      Repeat("a", 64),
      Repeat("x", 199) + "\xC3\xA9",
      Repeat("\xE2\x82\xAC", 90),
      Repeat("long ", 300),
  };
  return words;
}

const std::vector<std::string>& Numbers() {
  static const std::vector<std::string> numbers = {
      "0",          "1",           "-1",         "-0",    "17",
      "2147483647", "-2147483648", "2147483648", "1e3",   "9223372036854775807",
      "1.5",        "1e300",       "-1e-300",    "1e999", "9223372036854775808"};
  return numbers;
}

template <typename T>
const T& Pick(Input& input, const std::vector<T>& from) {
  return from[input.ConsumeIntegralInRange<std::size_t>(0, from.size() - 1)];
}

// A place in `value`, more often deep than not.
Value& PlaceIn(Input& input, Value& value) {
  Value* place = &value;
  for (int level = 0; level < 12; ++level) {
    const bool is_array = place->IsArray();
    const std::size_t size = is_array ? place->items().size() : place->members().size();
    if (size == 0 || input.ConsumeIntegralInRange(0, 7) == 0) break;
    const auto which = input.ConsumeIntegralInRange<std::size_t>(0, size - 1);
    place = is_array ? &place->MutableItems()[which] : &place->MutableMembers()[which].second;
  }
  return *place;
}

void SpoilPlace(Input& input, Value& place) {
  switch (input.ConsumeIntegralInRange(0, 6)) {
    case 0:
      place = Value();
      return;
    case 1:
    case 2:
      place = Text(input);
      return;
    case 3:
      place = AnyValue(input);
      return;
    case 4:  // One of what it holds comes twice, or goes.
      if (!place.items().empty()) {
        Value::Items& items = place.MutableItems();
        const auto which = input.ConsumeIntegralInRange<std::size_t>(0, items.size() - 1);
        items.push_back(Value(items[which]));
      } else if (!place.members().empty()) {
        Value::Members& members = place.MutableMembers();
        const auto which = input.ConsumeIntegralInRange<std::size_t>(0, members.size() - 1);
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
      }
      return;
    case 5:
      place = Value::RawNumber(Pick(input, Numbers()));
      return;
    default:
      place = input.ConsumeBool();
  }
}

}  // namespace

std::string Text(Input& input) {
  switch (input.ConsumeIntegralInRange(0, 3)) {
    case 0:
      return input.ConsumeRandomLengthString(64);
    case 1:  // Of an odd length.
      return Repeat(Pick(input, SchedulerMessages()),
                    input.ConsumeIntegralInRange<std::size_t>(0, 40));
    default:
      return Pick(input, SchedulerMessages());
  }
}

Value AnyValue(Input& input, int levels) {
  switch (input.ConsumeIntegralInRange(0, levels > 0 ? 5 : 3)) {
    case 0:
      return {};
    case 1:
      return Value(input.ConsumeBool());
    case 2:
      return Value::RawNumber(Pick(input, Numbers()));
    case 3:
      return Text(input);
    case 4: {
      Value array = Value::Array();
      for (int i = input.ConsumeIntegralInRange(0, 3); i > 0; --i) {
        array.Append(AnyValue(input, levels - 1));
      }
      return array;
    }
    default: {
      Value object = Value::Object();
      for (int i = input.ConsumeIntegralInRange(0, 3); i > 0; --i) {
        object[Text(input)] = AnyValue(input, levels - 1);
      }
      return object;
    }
  }
}

void Spoil(Input& input, Value& object) {
  for (int places = input.ConsumeIntegralInRange(0, 8); places > 0; --places) {
    SpoilPlace(input, PlaceIn(input, object));
  }
}

void SpoilContent(Input& input, Value& object) {
  constexpr std::array kIdentity = {"name", "namespace", "uid", "resourceVersion"};
  const Value before = object["metadata"];
  Spoil(input, object);
  Value& metadata = object["metadata"];
  for (const char* name : kIdentity) {
    metadata.Erase(name);
    if (!before[name].IsNull()) metadata[name] = before[name];
  }
}

std::string WriteWithParameters(Input& input, Value object) {
  static const std::vector<std::string> parameters = {
      R"({"x":"\ud800"})", Repeat("[", 600) + Repeat("]", 600), "\"\xFF\xFE\"", "1e999",
      R"({"kind":"\udc00","domainID":[)" + Repeat("{\"a\":", 600) + "1" + Repeat("}", 600) + "]}"};
  static constexpr std::string_view kPlace = "@parameters@";
  if (input.ConsumeBool()) {
    Value config;
    config["opaque"]["driver"] = api::kDriver;
    config["opaque"]["parameters"] = kPlace;
    object["spec"]["devices"]["config"].Append(std::move(config));
  }
  std::string text = json::Serialize(object);
  const std::string quoted = '"' + std::string(kPlace) + '"';
  if (const std::size_t at = text.find(quoted); at != std::string::npos) {
    text.replace(at, quoted.size(), Pick(input, parameters));
  }
  return text;
}

}  // namespace fuzz
