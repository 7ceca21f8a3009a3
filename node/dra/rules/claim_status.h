// The part of a ResourceClaim's status that is for one driver. Pure.
//
// A claim has free-form JSON for each driver that its author names, up to 1 MB of it. A plugin
// keeps only what is for its own driver, so other parts cost no memory and cannot make the
// checkpoint unreadable. The reference driver reads the same part.
//
// Bound of the part: 64 KiB, 100 levels.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace dra {

inline constexpr std::size_t kStatusBytesMax = std::size_t{64} << 10U;
inline constexpr std::size_t kStatusLevelsMax = 100;
// Maximum bytes of an untrusted text in a message.
inline constexpr std::size_t kShownMax = 64;

enum class Decoding {
  kStrict,   // To prepare: an unknown field may matter, so it is an error.
  kLenient,  // To unprepare what an older or newer plugin prepared.
};

// An allocated device of this driver.
struct Allocated {
  std::string request = {};  // Without the subrequest, which follows a '/'.
  std::string pool = {};
  std::string device = {};
  bool admin_access = false;
  friend bool operator==(const Allocated&, const Allocated&) = default;
};
// `status` is an own part.
std::vector<Allocated> DevicesIn(json::View status);

// A configuration of this driver in an own part. Refers to the part.
struct Configuration {
  std::vector<std::string> requests = {};  // For all, if empty.
  json::View parameters;
  // Returns whether it names the request, and not all.
  bool Names(const std::string& request) const;
};
// Returns those of the class, and then those of the claim: a later one takes precedence. Returns
// kInvalid, with a message for the user, if one has no form of a configuration.
base::Result<std::vector<Configuration>> ConfigurationsIn(json::View status,
                                                          std::string_view driver);

// Returns the part of `status` that is for the driver, as JSON: its results and configurations in
// the allocation, and what tells one allocation from another: node selector, time, and consumers.
// Returns kInvalid, with a message for the user, if it exceeds a bound.
base::Result<std::string> OwnPart(std::string_view status, std::string_view driver);

// Returns an own part as Go's types for a claim's status encode it: members in the order of their
// structs, no empty optional member, no unknown member. The reference computes its checksum over
// the decoded types, and rejects its own file if the text differs. Returns kInvalid if the part is
// not JSON, or exceeds the bound with Go's escapes.
base::Result<std::string> CanonicalPart(std::string_view own_part, std::string_view driver);

// An own part. Copies share it. `Wanted` is what a driver decodes of it, and has:
//   static constexpr std::string_view kDriver;
//   static base::Result<Wanted> Decode(std::string_view own_part, Decoding decoding);
template <typename Wanted>
class ClaimStatus {
 public:
  ClaimStatus() = default;  // Without an allocation. An entry from before 25.3 has no other.
  // As CanonicalPart().
  static base::Result<ClaimStatus> Decode(std::string_view own_part) {
    std::string text = TRY(CanonicalPart(own_part, Wanted::kDriver));
    ClaimStatus status;
    if (text == status.text()) return status;
    auto wanted = Wanted::Decode(text, Decoding::kLenient);
    status.content_ = std::make_shared<const Content>(
        Content{.text = std::move(text), .wanted = std::move(wanted)});
    return status;
  }

  const std::string& text() const { return content().text; }  // Canonical.
  bool is_allocated() const { return text().starts_with(R"({"allocation":)"); }
  // What it wants, decoded leniently.
  const base::Result<Wanted>& wanted() const { return content().wanted; }

  friend bool operator==(const ClaimStatus& one, const ClaimStatus& other) {
    return one.text() == other.text();
  }

 private:
  struct Content {
    std::string text = {};
    base::Result<Wanted> wanted = {};
  };
  const Content& content() const {
    static const Content kNothing = {.text = "{}",
                                     .wanted = base::Invalid("the claim is not allocated")};
    return content_ ? *content_ : kNothing;
  }

  std::shared_ptr<const Content> content_ = {};  // Null without an allocation.
};

}  // namespace dra
