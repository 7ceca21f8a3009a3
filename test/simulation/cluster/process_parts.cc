#include "test/simulation/cluster/process_parts.h"

namespace simulation {

namespace {

constexpr std::size_t kLogLines = 40;

}  // namespace

void RingLogger::Log(base::LogLevel /*level*/, std::string_view message,
                     std::initializer_list<base::LogField> fields) {
  std::string line(message);
  for (const base::LogField& field : fields) {
    line += " " + std::string(field.key) + "=\"" + field.value + "\"";
  }
  lines_.push_back(std::move(line));
  if (lines_.size() > kLogLines) lines_.pop_front();
}

}  // namespace simulation
