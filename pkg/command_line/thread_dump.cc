#include "pkg/command_line/thread_dump.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>

#include "pkg/base/file.h"
#include "pkg/base/open_file.h"

namespace command_line {
namespace {

constexpr int kInterrupt = SIGURG;  // Ignored by a process that does not handle it.
constexpr std::size_t kThreadsMax = 128;
constexpr int kFramesMax = 40;
constexpr int kFramesOfHandler = 2;
constexpr std::size_t kNameBytesMax = 160;
constexpr mode_t kMode = 0644;

// What a thread has answered. A late answer of an earlier question is in the thread's own place.
struct Answer {
  std::atomic<pid_t> thread = 0;
  std::atomic<int> frames = 0;
  std::array<void*, kFramesMax> addresses = {};
};

// A signal's handler can reach only what is global.
std::array<Answer, kThreadsMax> answers;
sem_t answered;

pid_t ThisThread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// libgcc of g++ 12 finds the tables for a stack without a lock, so that this can be called
// anywhere.
void OnInterrupt(int /*signal*/) {
  const int error = errno;
  const pid_t self = ThisThread();
  for (Answer& answer : answers) {
    if (answer.thread != self || answer.frames != 0) continue;
    answer.frames = ::backtrace(answer.addresses.data(), kFramesMax);
    ::sem_post(&answered);
    break;
  }
  errno = error;
}

std::vector<pid_t> Threads() {
  std::vector<pid_t> threads;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    threads.push_back(thread);
  }
  std::ranges::sort(threads);
  if (threads.size() > kThreadsMax) threads.resize(kThreadsMax);
  return threads;
}

// Interrupts all threads, and waits until each has answered, or for a second.
void Ask(const std::vector<pid_t>& threads) {
  while (::sem_trywait(&answered) == 0) {
  }
  for (std::size_t i = 0; i < kThreadsMax; ++i) {
    answers[i].frames = 0;
    answers[i].thread = i < threads.size() ? threads[i] : 0;
  }
  std::size_t open = 0;
  for (const pid_t thread : threads) {
    if (::syscall(SYS_tgkill, ::getpid(), thread, kInterrupt) == 0) ++open;
  }
  std::timespec deadline = {};
  ::clock_gettime(CLOCK_REALTIME, &deadline);
  ++deadline.tv_sec;
  while (open > 0) {
    if (::sem_timedwait(&answered, &deadline) == 0) {
      --open;
    } else if (errno != EINTR) {
      return;
    }
  }
}

// Returns the value of a line such as "State:\tS (sleeping)" of /proc/PID/status.
std::string ValueOf(const std::string& status, const std::string& key) {
  const std::size_t found = status.find(key + ":\t");
  if (found == std::string::npos) return "?";
  const std::size_t begin = found + key.size() + 2;
  return status.substr(begin, status.find('\n', begin) - begin);
}

std::string NameOf(void* address) {
  std::array<char, 2 + 2 * sizeof(void*) + 1> offset = {};
  Dl_info info = {};
  if (::dladdr(address, &info) == 0) return "?";
  if (info.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
    return std::string(readable ? readable.get() : info.dli_sname).substr(0, kNameBytesMax);
  }
  const auto distance = static_cast<char*>(address) - static_cast<char*>(info.dli_fbase);
  std::snprintf(offset.data(), offset.size(), "0x%tx", distance);
  return std::string(std::filesystem::path(info.dli_fname).filename()) + "+" + offset.data();
}

std::string Describe(pid_t thread, Answer& answer) {
  constexpr std::size_t kStatusMax = 16384;
  const std::string status =
      base::ReadFile("/proc/self/task/" + std::to_string(thread) + "/status", kStatusMax)
          .value_or("");
  std::string text = "thread " + std::to_string(thread) + " " + ValueOf(status, "Name") + ": " +
                     ValueOf(status, "State") + "\n";
  const int count = answer.frames;
  if (count == 0) text += "  it does not answer\n";
  for (int i = kFramesOfHandler; i < count; ++i) {
    text += "  " + NameOf(answer.addresses.at(static_cast<std::size_t>(i))) + "\n";
  }
  return text;
}

// By another name first, so that no link that waits there is followed.
bool Write(const std::string& path, const std::string& text) {
  std::string half = path + ".XXXXXX";
  const base::OpenFile file(::mkostemp(half.data(), O_CLOEXEC));
  if (!file.is_open()) return false;
  if (::fchmod(file.fd(), kMode) == 0 && file.Write(text) == 0 &&
      std::rename(half.c_str(), path.c_str()) == 0) {
    return true;
  }
  ::unlink(half.c_str());
  return false;
}

}  // namespace

void PrepareThreadDump() {
  std::array<void*, 1> none = {};
  ::backtrace(none.data(), 1);  // Loads libgcc, which a handler must not do.
  ::sem_init(&answered, 0, 0);
  struct sigaction action = {};
  action.sa_handler = &OnInterrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(kInterrupt, &action, nullptr);
}

std::vector<std::string> DescribeThreads() {
  const std::vector<pid_t> threads = Threads();
  Ask(threads);
  std::vector<std::string> texts;
  texts.reserve(threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    texts.push_back(Describe(threads[i], answers[i]));
  }
  return texts;
}

void DumpThreads(const std::string& path, std::string_view title, base::Logger& logger) {
  const std::vector<std::string> threads = DescribeThreads();
  std::string text = std::string(title) + "\n";
  for (const std::string& thread : threads) text += "\n" + thread;
  if (Write(path, text)) {
    logger.Info("Wrote what each thread does", {{"file", path}});
    return;
  }
  for (const std::string& thread : threads) logger.Info("What a thread does", {{"stack", thread}});
}

}  // namespace command_line
