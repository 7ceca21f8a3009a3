// What a plugin does next for a claim that the kubelet wants prepared or taken back. Pure: what is
// known goes in, one thing to do comes out, and then it is asked again with what is known by then.
//
// So each thing to do follows from what is there, not from what was done before it: wherever the
// process ends, the kubelet asks again and it goes on from there.
//
//   prepare:    note it - label the node - wait until the node is ready - write the spec - note it
//   take back:  remove the spec - remove the label - forget it
//
// A claim is checked before anything of it is written, since a user wrote it.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/cdi/spec.h"
#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "pkg/base/clock.h"

namespace plugin {

using TimePoint = base::Clock::TimePoint;

// The kubelet gives up at 45 s, and would then tell the user nothing but that.
inline constexpr std::chrono::seconds kAnswerAfter{40};

// What does not change while the plugin runs, but for the clique.
struct NodeIdentity {
  std::string node = {};
  std::string driver_namespace = {};
  std::string clique = {};  // Empty: the node has no fabric.
  bool host_managed = false;
  std::string folder = {};         // The plugin's, on the host.
  std::int64_t channel_major = 0;  // Of the devices of channels.
  // The capability that IMEX manages the fabric by.
  std::optional<cdi::DeviceNode> management = {};
};

struct DomainIdentity {
  std::string uid = {};
  std::string name = {};
  std::string ns = {};
};

struct NodeObservation {
  // That the claim names, if it is known here; and whether a live read has found that there is
  // none.
  std::optional<DomainIdentity> domain = {};
  bool domain_gone = false;
  bool node_read = false;
  std::string node_domain = {};  // The node's label.
  // The node's own entry says Ready; with an IMEX of the host, that one does.
  bool is_ready = false;
  bool has_folder = false;  // Of the domain, with the template.
  bool has_spec = false;    // The claim has a file, whatever is in it.
  std::optional<cdi::Spec> spec = {};
  TimePoint since = {};  // That the kubelet waits.
  TimePoint now = {};
};

enum class Do {
  kNoteStarted,
  kLabelNode,
  kMakeFolder,
  kWriteSpec,
  kNoteCompleted,
  kRemoveSpec,
  kUnlabelNode,
  kNoteAborted,
  kForget,
  kWait,    // For anything of Observed to change, or `until`.
  kAnswer,  // `error`, or that it is done.
};

struct ClaimStep {
  Do what = Do::kWait;
  std::string domain = {};                 // Of kLabelNode, kUnlabelNode, kMakeFolder.
  cdi::Spec spec = {};                     // Of kWriteSpec.
  std::vector<PreparedGroup> groups = {};  // Of kNoteCompleted and kAnswer.
  std::string error = {};                  // Of kAnswer; of kWait: for what.
  TimePoint until = {};                    // Of kWait.
};

[[nodiscard]] ClaimStep Prepare(const NodeIdentity& self, const ClaimToPrepare& claim,
                                const Checkpoint& checkpoint, const NodeObservation& observed);
// `observed.domain` is not looked at.
[[nodiscard]] ClaimStep Unprepare(const NodeIdentity& self, const std::string& uid,
                                  const Checkpoint& checkpoint, const NodeObservation& observed);

// What a claim that was noted is used for. Nothing: that cannot be told any more.
struct Use {
  DeviceType type = DeviceType::kChannel;
  std::string domain = {};
};
[[nodiscard]] std::optional<Use> UseOf(const CheckpointClaim& claim);

// The spec of a claim, and what the kubelet is told of it. No devices: there is nothing to add.
struct ClaimDevices {
  cdi::Spec spec = {};
  PreparedGroup group = {};
};
[[nodiscard]] ClaimDevices ClaimDevicesOf(const NodeIdentity& self, const std::string& uid,
                                          const Wanted& wanted, const DomainIdentity& domain);

}  // namespace plugin
