// What the stand-in for NVIDIA's library says: GPUs, from the environment or from a file.
//
// STAND_IN_NVML_FILE names the file. It is read again when the library is started or asked for the
// number of GPUs, if it has changed. Each line is a word and fields, "key=value". In a value, '_'
// is a blank. All fields have defaults; numbers may be anything, so that tests can lie.
//
//   driver version=580.95.05 cuda=13000
//   gpu minor=0 uuid=GPU-0 name=NVIDIA_H100 brand=14 arch=9 cc=9.0 memory=85520809984
//       pci=00000000:65:00.0 addressing=1 mig=1 fabric=<state>,<status>,<byte>,<clique> health=0
//   profile number=0 id=19 slices=1 memory=9856 sms=16 copy=1 decoders=1 encoders=0 jpeg=1 ofa=0
//   instance index=0 uuid=MIG-0 gi=7 ci=0 profile=19 start=0 size=1 compute=1
//
// (A GPU is one line.) A profile and an instance belong to the GPU above them. `compute` is the
// number of slices of the compute instance. A GPU without `addressing`, `mig` or `fabric` does not
// support it. For any line, `fail=15` makes every question about the object fail with that code,
// and `fail.uuid=15` the question for one thing: see the functions of stand_in.cc and mig.cc. A
// line that begins with '#' is a comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stand_in {

// Fields of a line.
class Fields {
 public:
  Fields() = default;
  explicit Fields(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  bool Has(const std::string& key) const { return values_.contains(key); }
  std::string Text(const std::string& key, const std::string& otherwise) const;
  // The number at the beginning of the value, of any base.
  std::uint64_t Number(const std::string& key, std::uint64_t otherwise) const;
  // How the question for `thing` ends: NVML's code.
  int CodeOf(const std::string& thing) const;

 private:
  std::map<std::string, std::string> values_ = {};
};

struct Gpu;

struct Instance {
  Fields fields = {};
  Gpu* gpu = nullptr;
};

struct Gpu {
  Fields fields = {};
  std::vector<Fields> profiles = {};
  std::deque<Instance> instances = {};
  // Of the fabric, if it is supported.
  int fabric_code = 0;
  int state = 0;
  int status = 0;
  int cluster = 0;
  unsigned clique = 0;
};

// What a handle of a device leads to.
struct Device {
  Gpu* gpu = nullptr;
  Instance* instance = nullptr;  // Null for a whole GPU.
  const Fields& fields() const { return instance != nullptr ? instance->fields : gpu->fields; }
};

// A value of the environment. Empty if it is not set.
std::string Setting(const char* name);

// Reads the environment again, and the file if it has changed. Handles stay valid for ever.
void Read(bool is_start);

// Between the two the library answers questions.
void Start();
void Stop();
bool IsStarted();

const Fields& Driver();
std::size_t GpuCount();
// The handles of a GPU, and of its instance with this index. Null if there is none.
Device* HandleOf(std::size_t index);
Device* HandleOf(const Device& gpu, unsigned index);

}  // namespace stand_in
