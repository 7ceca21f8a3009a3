// The disk of a simulated node, and the history of its plugin.
//
// For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/dra/host/claim_disk.h"
#include "test/simulation/apiserver/object.h"

namespace simulation {

// One change of one file. Each is atomic, except for kTorn.
struct DiskEdit {
  enum class What {
    kCheckpoint,
    kWriteSpec,
    kRemoveSpec,
    kMakeFolder,
    kRemoveFolder,
    kWriteDriverSpec
  };
  What what = What::kCheckpoint;
  std::string name = {};  // UID of a claim or a domain.
  std::string text = {};
  std::string ToString() const;
};

struct DiskContent {
  std::optional<std::string> checkpoint = {};
  std::uint64_t checkpoint_writes = 0;
  std::map<std::string, std::string> specs = {};  // By claim.
  std::set<std::string> folders = {};             // By domain. Its driver alone has some,
  std::optional<std::string> driver_spec = {};    // and a spec of NVIDIA's driver.
  std::string boot_id = {};
  const void* lock_holder = nullptr;

  void Apply(const DiskEdit& edit);
};

// Carries out an edit, or injects a fault. May throw ProcessDied.
using EditDisk = std::function<base::Result<void>(const DiskEdit& edit)>;

// The disk as one process of a plugin sees it. Destroying it releases the lock.
class ProcessDisk : public dra::ClaimDisk {
 public:
  // `content` must outlive it.
  ProcessDisk(DiskContent& content, EditDisk edit) : content_(content), edit_(std::move(edit)) {}
  ~ProcessDisk() override { Unlock(); }
  ProcessDisk(const ProcessDisk&) = delete;
  ProcessDisk& operator=(const ProcessDisk&) = delete;

  base::Result<void> Lock() override;
  void Unlock() override;
  base::Result<std::optional<CheckpointText>> ReadCheckpoint() override;
  base::Result<void> WriteCheckpoint(const std::string& text) override;
  void KeepDamaged(const std::string& /*text*/) override {}
  base::Result<std::vector<std::string>> Specs() const override;
  bool HasSpec(const std::string& uid) const override { return content_.specs.contains(uid); }
  base::Result<std::optional<cdi::Spec>> ReadSpec(const std::string& uid) const override;
  base::Result<void> WriteSpec(const std::string& uid, const cdi::Spec& spec) override;
  base::Result<void> RemoveSpec(const std::string& uid) override;

 protected:
  const DiskContent& content() const { return content_; }
  base::Result<void> Edit(const DiskEdit& edit) { return edit_(edit); }

 private:
  DiskContent& content_;
  const EditDisk edit_;
  std::optional<std::uint64_t> read_ = {};  // Writes of the checkpoint that this process knows.
};

// NVIDIA's driver and the GPUs of a node, as they are.
struct HostTruth {
  int driver_loads = 0;
  std::string driver_version = "580.95.05";
  bool is_readable = true;          // The driver answers.
  std::set<std::string> lost = {};  // Devices that it does not report.
  friend bool operator==(const HostTruth&, const HostTruth&) = default;
};

// One event on a node, in order, with the revision of the cluster at that time.
struct PluginEvent {
  enum class What {
    kCalled,  // The kubelet called to prepare the claim.
    kPrepared,
    kRefused,
    kUnprepared,
    kCheckpointed,  // Written into the checkpoint, as started or prepared.
    kSpecWritten,
    kSpecRemoved,
    kFolderRemoved,
    kEnding,       // The kubelet called to unprepare the claim, or has forgotten it.
    kNotAnswered,  // The kubelet gave up a call.
    kSpecLost,     // A stranger removed the spec.
    kDamaged,      // The checkpoint was torn.
    kHostChanged,  // `host` has what it is since.
    kRest          // What is left when nothing happens any more.
  };
  What what = What::kPrepared;
  std::string node = {};
  std::string boot_id = {};
  std::string name = {};  // UID of the claim, or of the domain.
  std::vector<std::string> cdi_ids = {};
  std::string text = {};  // Text of a spec, or why it was refused.
  bool has_spec = false;
  bool has_entry = false;        // For kSpecLost: the checkpoint has the claim.
  bool has_old_numbers = false;  // The spec has device numbers of an earlier driver.
  // For kUnprepared: the kubelet has called for the claim since the boot, and no other claim of its
  // domain is in progress or prepared there.
  bool is_last = false;
  bool in_use = false;  // For kSpecRemoved and kFolderRemoved: a running container uses it.
  HostTruth host = {};  // For kHostChanged and kRest.
  std::vector<std::string> published = {};  // For kRest: devices in the node's slices.
  // For kUnprepared and kRest: specs, and entries of the checkpoint, of claims that no pod has.
  std::vector<std::string> left = {};
  Revision revision = 0;
  Time time = {};
};
using PluginEvents = std::vector<PluginEvent>;

}  // namespace simulation
