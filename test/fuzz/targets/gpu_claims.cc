// What reaches the GPU driver of a node: its checkpoint, and parameters of claims.
#include "node/gpu/rules/garbage.h"
#include "node/gpu/rules/prepare.h"
#include "pkg/json/utf8.h"
#include "test/fuzz/fuzz.h"

namespace {

// Bytes that are the entries of a checkpoint whose checksums are right.
std::string Sealed(std::string_view entries) {
  const std::string rest = R"(,"preparedClaims":{)" + std::string(entries) + "}}";
  return R"({"checksum":)" + std::to_string(dra::Checksum(R"({"checksum":0,"v1":{}})")) +
         R"(,"v1":{},"v2":{"checksum":)" +
         std::to_string(dra::Checksum(R"({"checksum":0)" + rest)) + rest + "}";
}

}  // namespace

// The checkpoint of the GPU driver:
//  - what is read of it, written and read again, is the same;
//  - whatever is in the file, the driver starts, finds its garbage, and can write it.
FUZZ_TARGET(gpu_checkpoint, bytes) {
  for (const std::string& text : {std::string(bytes), Sealed(bytes)}) {
    const auto resumed = dra::Resume<gpu::CheckpointClaim>(text, "this boot");
    CHECK(resumed.checkpoint.boot_id == "this boot");
    for (const auto& [uid, claim] : resumed.checkpoint.claims) {
      static_cast<void>(gpu::MpsDaemonOf(claim));
    }
    static_cast<void>(gpu::FindGarbage(resumed.checkpoint, {"a"}));
    static_cast<void>(Encode(resumed.checkpoint));
    const auto read = dra::DecodeCheckpoint<gpu::CheckpointClaim>(text);
    if (!read) continue;
    const auto again = dra::DecodeCheckpoint<gpu::CheckpointClaim>(Encode(*read));
    CHECK(again.has_value() && again->claims.size() == read->claims.size());
    fuzz::CheckSame(Encode(*again), Encode(*read));
  }
}

// Parameters of a GPU in a claim:
//  - what is taken strictly is taken leniently, too;
//  - why they are refused is one short line.
FUZZ_TARGET(gpu_config, bytes) {
  const std::string status =
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.nvidia.com",)"
      R"("pool":"n","device":"gpu-0"}],"config":[{"source":"FromClaim","requests":["r"],)"
      R"("opaque":{"driver":"gpu.nvidia.com","parameters":)" +
      std::string(bytes) + "}}]}}}";
  const auto strict = gpu::Wanted::Decode(status, dra::Decoding::kStrict);
  const auto lenient = gpu::Wanted::Decode(status, dra::Decoding::kLenient);
  if (strict) CHECK(lenient.has_value() && *lenient == *strict);
  for (const auto& decoded : {strict, lenient}) {
    if (decoded) continue;
    CHECK(decoded.error().message.size() < 600);
    fuzz::CheckSame(json::OneLine(decoded.error().message, 600), decoded.error().message);
  }
}
