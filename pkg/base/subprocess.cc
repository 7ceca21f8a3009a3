#include "pkg/base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/base/open_file.h"

namespace base {
namespace {

constexpr std::chrono::milliseconds kTurn{20};  // Interval of checks: its end, a stop, the time.
constexpr int kReadsInATurn = 64;

std::string Words(int error) { return std::generic_category().message(error); }

struct Pipe {
  OpenFile read_end;  // Reading from it does not block.
  OpenFile write_end;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> fds = {};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return Unavailable(Words(errno));
  Pipe pipe = {.read_end = OpenFile(fds[0]), .write_end = OpenFile(fds[1])};
  CHECK(::fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
  return pipe;
}

// A child that has been started. The destructor kills and reaps it in every case.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    // Kills its group, whose number is not reused before the child is reaped. It may have left it.
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns how it has ended. Empty if it runs. Does not reap it.
  std::optional<ProgramEnd> Ended() const {
    siginfo_t info = {};
    CHECK(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    if (info.si_pid == 0) return {};
    const bool exited = info.si_code == CLD_EXITED;
    return ProgramEnd{.how = exited ? ProgramEnd::How::kExited : ProgramEnd::How::kSignalled,
                      .status = info.si_status};
  }
  void Signal(int signal) const { ::kill(pid_, signal); }

 private:
  const pid_t pid_;
};

// For posix_spawn, which takes char* but does not write. `texts` must outlive the result.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

ErrorCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kForbidden;
    case E2BIG:
      return ErrorCode::kTooLarge;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ETXTBSY:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInvalid;
  }
}

// posix_spawn shares this process's memory until the program runs, so no lock is copied while a
// thread holds it. It also returns why a program does not run.
Result<pid_t> Spawn(const Program& program, const OpenFile& output, const OpenFile& complaints) {
  posix_spawn_file_actions_t files;
  CHECK(::posix_spawn_file_actions_init(&files) == 0);
  ::posix_spawn_file_actions_adddup2(&files, output.fd(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, complaints.fd(), STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  posix_spawnattr_t attributes;
  CHECK(::posix_spawnattr_init(&attributes) == 0);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments = {program.path};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.path.c_str(), &files, &attributes,
                                  Pointers(arguments).data(), Pointers(program.environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return Fail(CodeOf(error), Words(error));
  return pid;
}

// Waits a turn, or until a pipe can be read. Ignores closed pipes.
void Wait(const Pipe& output, const Pipe& complaints) {
  std::array<pollfd, 2> fds = {
      pollfd{.fd = output.read_end.fd(), .events = POLLIN, .revents = 0},
      pollfd{.fd = complaints.read_end.fd(), .events = POLLIN, .revents = 0}};
  static_cast<void>(::poll(fds.data(), fds.size(), static_cast<int>(kTurn.count())));
}

// Appends available output to `text`, up to a limit per turn. Closes the pipe at its end.
void Read(Pipe& pipe, std::string& text) {
  std::array<char, 16384> bytes = {};
  for (int i = 0; i < kReadsInATurn && pipe.read_end.is_open(); ++i) {
    const ssize_t count = ::read(pipe.read_end.fd(), bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      pipe.read_end.Close();
      return;
    }
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<ProgramEnd> RunProgram(const Program& program, const ProgramLimits& limits,
                              const Clock& clock, const std::stop_token& stop) {
  using How = ProgramEnd::How;
  Pipe output = TRY(MakePipe());
  Pipe complaints = TRY(MakePipe());
  const pid_t pid = TRY(Spawn(program, output.write_end, complaints.write_end));
  const Child child(pid);
  output.write_end.Close();
  complaints.write_end.Close();

  const Clock::TimePoint deadline = clock.Now() + limits.time;
  std::string said;
  std::string complained;
  const auto end_with = [&](ProgramEnd end) {
    end.output = end.how == How::kTooMuchOutput ? "" : std::move(said);
    end.complaints = std::move(complained);
    return end;
  };
  for (;;) {
    Wait(output, complaints);
    const std::optional<ProgramEnd> ended = child.Ended();  // First, to read all its output.
    Read(output, said);
    Read(complaints, complained);
    if (complained.size() > limits.complaint_bytes_max) {
      complained.erase(0, complained.size() - limits.complaint_bytes_max);
    }
    if (said.size() > limits.output_bytes_max) return end_with({.how = How::kTooMuchOutput});
    if (ended) return end_with(*ended);
    if (stop.stop_requested()) return end_with({.how = How::kStopped});
    if (clock.Now() >= deadline) return end_with({.how = How::kOutOfTime});
  }
}

struct LastingProgram::State {
  Pipe words;
  Child child;
};

LastingProgram::LastingProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
LastingProgram::~LastingProgram() = default;

Result<std::unique_ptr<LastingProgram>> LastingProgram::Start(const Program& program) {
  Pipe words = TRY(MakePipe());
  const pid_t pid = TRY(Spawn(program, words.write_end, words.write_end));
  words.write_end.Close();
  auto state = std::unique_ptr<State>(new State{.words = std::move(words), .child = Child(pid)});
  return std::unique_ptr<LastingProgram>(new LastingProgram(std::move(state)));
}

bool LastingProgram::Listen(std::chrono::milliseconds most, std::string& words) {
  pollfd fd = {.fd = state_->words.read_end.fd(), .events = POLLIN, .revents = 0};
  if (fd.fd < 0) return false;
  static_cast<void>(::poll(&fd, 1, static_cast<int>(most.count())));
  Read(state_->words, words);
  return state_->words.read_end.is_open();
}

std::optional<ProgramEnd> LastingProgram::Ended() const { return state_->child.Ended(); }

void LastingProgram::Signal(int signal) const { state_->child.Signal(signal); }

}  // namespace base
