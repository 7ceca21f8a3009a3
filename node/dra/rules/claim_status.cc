#include "node/dra/rules/claim_status.h"

#include <algorithm>

#include "node/dra/rules/go_json.h"
#include "pkg/json/slices.h"
#include "pkg/json/utf8.h"

namespace dra {

namespace {

using base::Invalid, base::Result;

bool IsOfDriver(std::string_view object, std::string_view driver) {
  return json::SliceOf(object, "driver") == "\"" + std::string(driver) + "\"";
}

// Returns whether a configuration is for this driver. One that is for no driver counts, so that it
// stays what it is when it is read again.
bool IsOwnConfig(std::string_view config, std::string_view driver) {
  const std::string of = json::TextOf(json::SliceOf(config, "opaque"), "driver");
  return of.empty() || of == driver;
}

tl::unexpected<base::Error> RefuseLarger(const std::string& bound, std::string_view driver) {
  return Invalid(
      "the claim's status has more than " + bound + " for " + std::string(driver) +
      " and the pods that use it. Remove configurations of this driver from the claim, or "
      "use it with fewer pods");
}

// Collects JSON up to a bound.
class BoundedText {
 public:
  bool is_full() const { return text_.size() > kStatusBytesMax; }
  void Add(std::string_view text) {
    if (!is_full()) text_ += text;
  }
  // Adds a member with the items of `list` that `is_own` accepts.
  void AddItems(const char* name, std::string_view list, std::string_view driver,
                bool (*is_own)(std::string_view item, std::string_view driver)) {
    Add(name);
    const char* separator = "[";
    // What is malformed is found when the whole is parsed.
    static_cast<void>(json::ForEachSlice(list, [&](std::string_view, std::string_view item) {
      if (is_full() || !is_own(item, driver)) return;
      Add(std::exchange(separator, ","));
      Add(item);
    }));
    Add(*separator == '[' ? "[]" : "]");
  }
  void AddMember(const char* name, std::string_view value) {
    if (value.empty()) return;
    Add(name);
    Add(value);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string MainRequest(std::string_view request) {
  return std::string(request.substr(0, request.find('/')));
}

}  // namespace

std::vector<Allocated> DevicesIn(json::View status) {
  std::vector<Allocated> devices;
  status["allocation"]["devices"]["results"].ForEach([&devices](json::View result) {
    devices.push_back({.request = MainRequest(result["request"].AsString()),
                       .pool = std::string(result["pool"].AsString()),
                       .device = std::string(result["device"].AsString()),
                       .admin_access = result["adminAccess"].AsBool()});
  });
  return devices;
}

bool Configuration::Names(const std::string& request) const {
  return std::ranges::any_of(requests,
                             [&](const std::string& one) { return MainRequest(one) == request; });
}

Result<std::vector<Configuration>> ConfigurationsIn(json::View status, std::string_view driver) {
  const json::View list = status["allocation"]["devices"]["config"];
  std::vector<Configuration> of_class;
  std::vector<Configuration> of_claim;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json::View item = list.at(i);
    const std::string_view source = item["source"].AsString();
    if (source != "FromClass" && source != "FromClaim") {
      return Invalid("configuration with an unknown source: \"" + json::OneLine(source, kShownMax) +
                     "\"");
    }
    if (!item["opaque"].IsObject()) return Invalid("configuration without opaque");
    if (item["opaque"]["driver"].AsString() != driver) continue;
    Configuration one = {.parameters = item["opaque"]["parameters"]};
    item["requests"].ForEach(
        [&](json::View request) { one.requests.emplace_back(request.AsString()); });
    (source == "FromClass" ? of_class : of_claim).push_back(std::move(one));
  }
  std::ranges::move(of_claim, std::back_inserter(of_class));
  return of_class;
}

Result<std::string> OwnPart(std::string_view status, std::string_view driver) {
  const std::string_view allocation = json::SliceOf(status, "allocation");
  const std::string_view devices = json::SliceOf(allocation, "devices");
  BoundedText own;
  own.Add("{");
  if (allocation.starts_with('{')) {
    own.AddItems(R"("allocation":{"devices":{"results":)", json::SliceOf(devices, "results"),
                 driver, IsOfDriver);
    own.AddItems(R"(,"config":)", json::SliceOf(devices, "config"), driver, IsOwnConfig);
    own.Add("}");
    own.AddMember(R"(,"nodeSelector":)", json::SliceOf(allocation, "nodeSelector"));
    own.AddMember(R"(,"allocationTimestamp":)", json::SliceOf(allocation, "allocationTimestamp"));
    own.Add("},");
  }
  const std::string_view consumers = json::SliceOf(status, "reservedFor");
  own.AddMember(R"("reservedFor":)", consumers.empty() ? "[]" : consumers);
  own.Add("}");
  if (own.is_full()) return RefuseLarger("65,536 bytes", driver);
  std::string text = own.Take();
  if (json::DepthOf(text) > kStatusLevelsMax) return RefuseLarger("100 levels", driver);
  return text;
}

Result<std::string> CanonicalPart(std::string_view own_part, std::string_view driver) {
  std::string text = GoJson(CanonicalClaimStatus(TRY(json::Parse(own_part))));
  if (text.size() > kStatusBytesMax) return RefuseLarger("65,536 bytes", driver);
  return text;
}

}  // namespace dra
