// Fills structures of a caller by their offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stand_in {

// Writes `value` where a field of the caller's structure is.
template <typename Value>
void Put(void* info, std::size_t offset, Value value) {
  std::memcpy(static_cast<unsigned char*>(info) + offset, &value, sizeof(value));
}

// Writes an unsigned int.
inline void PutNumber(void* info, std::size_t offset, std::uint64_t value) {
  Put(info, offset, static_cast<std::uint32_t>(value));
}

inline void PutHandle(void* info, std::size_t offset, void* handle) {
  Put(info, offset, reinterpret_cast<std::uintptr_t>(handle));
}

}  // namespace stand_in
