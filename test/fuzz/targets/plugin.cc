// What reaches the kubelet plugin of a node: its checkpoint, claims, and specs of devices.
#include <algorithm>

#include "node/cdi/files.h"
#include "node/cdi/spec.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/garbage.h"
#include "node/plugin/rules/prepare.h"
#include "pkg/json/utf8.h"
#include "test/fuzz/fuzz.h"

namespace {

// Bytes that are an object, as the second view of a checkpoint whose checksums are right.
std::string Sealed(std::string_view object) {
  const std::string rest =
      object == "{}" ? "}"
                     : "," + std::string(object.substr(std::min<std::size_t>(1, object.size())));
  const std::uint32_t inner = dra::Checksum(R"({"checksum":0)" + rest);
  return R"({"checksum":)" + std::to_string(dra::Checksum(R"({"checksum":0,"v1":{}})")) +
         R"(,"v1":{},"v2":{"checksum":)" + std::to_string(inner) + rest + "}";
}

void CheckWrittenAgain(const plugin::Checkpoint& checkpoint) {
  const std::string text = plugin::Encode(checkpoint);
  const auto again = plugin::DecodeCheckpoint(text);
  CHECK(again.has_value() && again->claims.size() == checkpoint.claims.size());
  fuzz::CheckSame(plugin::Encode(*again), text);
}

void CheckOneLine(const base::Error& error) {
  CHECK(error.message.size() < 400);
  fuzz::CheckSame(json::OneLine(error.message, 400), error.message);
}

}  // namespace

// The checkpoint:
//  - what is read of it, written and read again, is the same, whatever a newer plugin added;
//  - whatever is in the file, a plugin starts with the boot that the node is in, and of another
//  boot
//    nothing is left.
FUZZ_TARGET(checkpoint, bytes) {
  for (const std::string& text : {std::string(bytes), Sealed(bytes)}) {
    const auto read = plugin::DecodeCheckpoint(text);
    if (read) CheckWrittenAgain(*read);
    const plugin::Resumed resumed = plugin::Resume(text, "this boot");
    CHECK(resumed.checkpoint.boot_id == "this boot");
    CHECK(resumed.from == plugin::Resumed::From::kThisBoot || resumed.checkpoint.claims.empty());
    if (!read) continue;
    for (const auto& [uid, claim] : read->claims) static_cast<void>(plugin::UseOf(claim));
    static_cast<void>(plugin::FindGarbage({}, *read, {.specs = {"a"}, .node_domain = "b"}));
  }
}

// Parameters of a claim:
//  - what is taken strictly is taken leniently, too, and says the same;
//  - its domain is a UID, and may stand in a path;
//  - why they are refused is one short line.
FUZZ_TARGET(claim_config, bytes) {
  json::Parser parser;
  const auto parameters = parser.Parse(bytes);
  if (!parameters) return;
  const auto strict = plugin::DecodeConfig(*parameters, dra::Decoding::kStrict);
  const auto lenient = plugin::DecodeConfig(*parameters, dra::Decoding::kLenient);
  if (!strict) CheckOneLine(strict.error());
  if (!strict) return;
  CHECK(lenient.has_value() && *lenient == *strict);
  CHECK(plugin::IsUid(strict->domain) && cdi::IsFileSafe(strict->domain));
}

// A whole claim, prepared on a node that has all that it needs:
//  - it is prepared or refused, in a few steps;
//  - a daemon's is of the driver's namespace, and what is mounted is a folder of its domain;
//  - a channel's is of the namespace of its domain.
FUZZ_TARGET(claim, bytes) {
  const auto claim = plugin::DecodeResourceClaim(bytes);
  if (!claim) return;
  const plugin::NodeIdentity self = {
      .node = "node-a", .driver_namespace = "driver", .clique = "f.1", .folder = "/p"};
  plugin::NodeObservation observed = {
      .node_read = true, .is_ready = true, .has_driver_spec = true, .has_folder = true};
  if (claim->wanted) {
    observed.domain =
        plugin::DomainIdentity{.uid = claim->wanted->config.domain, .name = "d", .ns = "train"};
    observed.node_domain = claim->wanted->config.domain;
  }
  plugin::Checkpoint checkpoint;
  int steps = 0;
  const auto next = [&] {
    plugin::Checkpoint seen = checkpoint;
    // No claim has this UID.
    seen.claims["a daemon"] = {
        .state = plugin::ClaimState::kCompleted,
        .groups = {{.type = plugin::DeviceType::kDaemon, .domain = observed.node_domain}}};
    return plugin::Prepare(self, claim->uid, &*claim, seen, observed);
  };
  plugin::ClaimStep step = next();
  for (; !std::holds_alternative<plugin::AnswerKubelet>(step); ++steps) {
    CHECK(steps < 5);
    if (const auto* write = std::get_if<plugin::WriteSpec>(&step)) {
      CHECK(claim->ns ==
            (claim->wanted->name.type == plugin::DeviceType::kDaemon ? "driver" : "train"));
      for (const cdi::Mount& mount : write->spec.devices.at(0).edits.mounts) {
        CHECK(mount.host_path == "/p/domains/" + claim->wanted->config.domain);
      }
      CHECK(cdi::Parse(cdi::Render(write->spec), "f").has_value());
      observed.has_spec = true;
      observed.spec = write->spec;
    } else {
      const auto* completed = std::get_if<plugin::CheckpointCompleted>(&step);
      CHECK(completed != nullptr || std::holds_alternative<plugin::CheckpointStarted>(step));
      auto& entry = checkpoint.claims[claim->uid];
      entry.state =
          completed != nullptr ? plugin::ClaimState::kCompleted : plugin::ClaimState::kStarted;
      entry.status = claim->status;
      if (completed != nullptr) entry.groups = completed->groups;
    }
    step = next();
  }
  const auto& answer = std::get<plugin::AnswerKubelet>(step);
  CHECK(answer.error.empty() != checkpoint.claims.empty());
  if (answer.error.empty()) CheckWrittenAgain(checkpoint);
}

// A CDI spec:
//  - what is read of one, written and read again, is the same;
//  - why one is refused is said in few words.
FUZZ_TARGET(cdi_spec, bytes) {
  const auto spec = cdi::Parse(std::string(bytes), "f");
  if (!spec || !json::IsUtf8(bytes)) return;
  const std::string text = cdi::Render(*spec);
  const auto again = cdi::Parse(text, "f");
  if (!again || *again != *spec) fuzz::CheckSame(again ? cdi::Render(*again) : "", text);
  CHECK(again.has_value() && *again == *spec);
}
