// Test doubles for randomness and the log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/base/random.h"

namespace kube {

// Returns the same numbers for the same seed.
class SeededRandom final : public base::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t Next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// Always returns the same number: Fraction() is 0, or just below 1.
class FixedRandom final : public base::Random {
 public:
  enum class Side { kLow, kHigh };
  explicit FixedRandom(Side side) : side_(side) {}
  std::uint64_t Next() override { return side_ == Side::kLow ? 0 : ~0ULL; }

 private:
  const Side side_;
};

// Thread-safe.
class NoLog final : public base::Logger {
 public:
  void Log(base::LogLevel /*level*/, std::string_view /*message*/,
           std::initializer_list<base::LogField> /*fields*/) override {}
};

// Keeps the lines, each as "message key=value key=value". For one thread.
class RecordingLogger final : public base::Logger {
 public:
  struct Line {
    base::LogLevel level = base::LogLevel::kInfo;
    std::string text = {};
  };

  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    Line line = {.level = level, .text = std::string(message)};
    for (const base::LogField& field : fields) {
      line.text.append(" ").append(field.key).append("=").append(field.value);
    }
    lines_.push_back(std::move(line));
  }

  const std::vector<Line>& lines() const { return lines_; }
  // Returns how many lines contain `part`. Ignores lines that only a verbosity writes.
  std::size_t Count(std::string_view part) const {
    return static_cast<std::size_t>(std::ranges::count_if(lines_, [&](const Line& line) {
      return line.level <= base::LogLevel::kInfo && line.text.find(part) != std::string::npos;
    }));
  }

 private:
  std::vector<Line> lines_;
};

}  // namespace kube
