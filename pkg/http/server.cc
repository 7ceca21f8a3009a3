#include "pkg/http/server.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/base/mutex.h"
#include "pkg/base/open_file.h"
#include "pkg/base/serial_executor.h"
#include "pkg/http/listener.h"

namespace http {
namespace {

using base::Result;
using TimePoint = base::Clock::TimePoint;

constexpr std::size_t kConnectionsMax = 100;
constexpr unsigned kConnectionsClosing = 28;  // Cut, but not closed yet.
constexpr std::size_t kHeadBytesMax = 8U << 10;
// libmicrohttpd's limit per connection: the head, its parts, and the head of the answer.
constexpr std::size_t kConnectionBytesMax = 16U << 10;
constexpr std::size_t kAnswerBytesMax = 16U << 20;
constexpr std::chrono::seconds kExchangeMax{5};
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{100};

// Earlier versions have known faults.
constexpr const char* kTlsPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct StopDaemon {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};
using Daemon = std::unique_ptr<MHD_Daemon, StopDaemon>;

tl::unexpected<base::Error> FailedToServe(const tls::Identity* identity) {
  if (identity == nullptr) return base::Unavailable("out of memory");
  return base::Invalid("GnuTLS does not take the certificate and its key");
}

// An answer. Those that work has made count against a limit while they exist.
using HeldReply = std::shared_ptr<const ServerReply>;

// Does work, one piece after another, on its own thread. All answers that it made must end before
// it does.
class WorkThread {
 public:
  struct Made {
    std::uint64_t id = 0;
    HeldReply reply = {};  // Null if there was no room for it.
  };

  // `on_made` is called on the thread when an answer is ready.
  explicit WorkThread(std::function<void()> on_made) : on_made_(std::move(on_made)) {}

  void Add(std::uint64_t id, ServerWork work) {
    waiting_.With([id](auto& waiting) { waiting.insert(id); });
    executor_.Post([this, id, work = std::move(work)](const std::stop_token& /*stop*/) {
      const bool is_wanted = waiting_.With([id](auto& waiting) { return waiting.erase(id) > 0; });
      if (!is_wanted) return;
      Made made = {.id = id, .reply = Hold(work())};
      made_.With([&](auto& all) { all.push_back(std::move(made)); });
      on_made_();
    });
  }
  // Drops work that no connection needs. If it has begun, its answer is still made.
  void Drop(std::uint64_t id) {
    waiting_.With([id](auto& waiting) { waiting.erase(id); });
  }
  std::vector<Made> TakeMade() {
    return made_.With([](auto& made) { return std::exchange(made, {}); });
  }

 private:
  HeldReply Hold(ServerReply reply) {
    const std::size_t bytes = reply.body.capacity();
    if (bytes_.fetch_add(bytes) + bytes > kAnswerBytesMax) {
      bytes_ -= bytes;
      return {};
    }
    return {new ServerReply(std::move(reply)), [this, bytes](const ServerReply* held) {
              bytes_ -= bytes;
              delete held;
            }};
  }

  std::atomic<std::size_t> bytes_ = 0;  // Of the answers that exist.
  const std::function<void()> on_made_;
  base::Guarded<std::set<std::uint64_t>> waiting_;
  base::Guarded<std::vector<Made>> made_;
  base::SerialExecutor executor_;  // Last, because it uses the others.
};

// A connection that is cut stays in the list until libmicrohttpd has closed it.
struct Connection {
  std::uint64_t id = 0;
  int fd = -1;  // Owned by libmicrohttpd.
  TimePoint deadline = {};
  MHD_Connection* waits_for_work = nullptr;
  bool is_cut = false;
};

Connection& ContextOf(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return *static_cast<Connection*>(info->socket_context);
}

ServerRequest RequestOf(MHD_Connection* connection, const char* path) {
  ServerRequest request = {.path = path};
  const char* const authorization =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
  if (authorization != nullptr) request.authorization = authorization;
  MHD_get_connection_values(
      connection, MHD_GET_ARGUMENT_KIND,
      [](void* query, MHD_ValueKind, const char* name, const char* value) {
        static_cast<decltype(request.query)*>(query)->emplace(name, value == nullptr ? "" : value);
        return MHD_YES;
      },
      &request.query);
  return request;
}

// Sends the body without a copy, and frees it when it is sent or the connection ends. MHD_NO: the
// connection must be closed.
MHD_Result Send(MHD_Connection* connection, HeldReply held, const char* name = nullptr,
                const char* value = nullptr) {
  const ServerReply& reply = *held;
  auto owned = std::make_unique<HeldReply>(std::move(held));
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      reply.body.size(), const_cast<char*>(reply.body.data()),
      [](void* sent) { delete static_cast<HeldReply*>(sent); }, owned.get());
  if (response == nullptr) return MHD_NO;
  std::ignore = owned.release();
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  if (name != nullptr) MHD_add_response_header(response, name, value);
  if (reply.status == MHD_HTTP_UNAUTHORIZED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  }
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result SendAtOnce(MHD_Connection* connection, ServerReply reply, const char* name = nullptr,
                      const char* value = nullptr) {
  return Send(connection, std::make_shared<const ServerReply>(std::move(reply)), name, value);
}

MHD_Result SendMade(MHD_Connection* connection, HeldReply reply) {
  if (reply != nullptr) return Send(connection, std::move(reply));
  return SendAtOnce(connection, {.status = MHD_HTTP_SERVICE_UNAVAILABLE, .body = "busy\n"},
                    MHD_HTTP_HEADER_RETRY_AFTER, "5");
}

}  // namespace

struct Server::State {
  State(Handler handles, const base::Clock& tells) : handler(std::move(handles)), clock(tells) {}

  const Handler handler;
  const base::Clock& clock;
  const base::OpenFile wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::optional<Listener> listener = {};
  std::optional<WorkThread> works = {};
  base::Guarded<Daemon> next = {};  // Replaces `daemon`. Null if there is none.
  // Only the thread uses the members below.
  Daemon daemon = {};
  std::list<Connection> connections = {};  // The oldest first.
  std::uint64_t last_id = 0;
  std::jthread thread = {};
  bool is_over = false;

  Daemon MakeDaemon(const tls::Identity* identity);
  Result<int> Start(const std::string& address, const tls::Identity* identity);
  void Serve(const std::stop_token& stop);
  void Turn();
  void TakeNext();
  void Accept();
  void MakeRoom();
  void FinishWork();
  void Cut(Connection& connection);
  MHD_Result Answer(MHD_Connection* connection, const char* path, std::string_view method);
  std::list<Connection>::iterator Oldest();
  int WaitMs();
  void Wake() const;

  static MHD_Result OnRequest(void* state, MHD_Connection* connection, const char* path,
                              const char* method, const char* version, const char* body,
                              std::size_t* body_bytes, void** request);
  static void OnConnection(void* state, MHD_Connection* connection, void** context,
                           MHD_ConnectionNotificationCode code);
};

Server::Server(Handler handler, const base::Clock& clock)
    : state_(std::make_unique<State>(std::move(handler), clock)) {
  CHECK(state_->wake.is_open());
}

Server::~Server() { Stop(); }

Result<int> Server::Start(const std::string& address) { return state_->Start(address, nullptr); }

Result<int> Server::Start(const std::string& address, const tls::Identity& identity) {
  return state_->Start(address, &identity);
}

Result<int> Server::State::Start(const std::string& address, const tls::Identity* identity) {
  CHECK(!thread.joinable() && !is_over);
  listener.emplace(TRY(Listener::On(address)));
  daemon = MakeDaemon(identity);
  if (daemon == nullptr) {
    listener.reset();
    return FailedToServe(identity);
  }
  works.emplace([this] { Wake(); });
  thread = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  return listener->port();
}

Result<void> Server::Use(const tls::Identity& identity) {
  CHECK(state_->thread.joinable());
  Daemon made = state_->MakeDaemon(&identity);
  if (made == nullptr) return FailedToServe(&identity);
  state_->next.With([&made](Daemon& next) { next.swap(made); });
  state_->Wake();
  return {};
}

void Server::Stop() {
  if (!state_->thread.joinable()) return;
  state_->thread.request_stop();
  state_->Wake();
  state_->thread.join();
  state_->works.reset();
  state_->is_over = true;
  state_->listener.reset();  // Also cuts clients that were not accepted yet.
}

Daemon Server::State::MakeDaemon(const tls::Identity* identity) {
  constexpr unsigned kFlags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
  std::array<MHD_OptionItem, 4> tls = {{{MHD_OPTION_END, 0, nullptr}}};
  if (identity != nullptr) {
    const auto text = [](const std::string& pem) { return const_cast<char*>(pem.c_str()); };
    tls = {{{MHD_OPTION_HTTPS_MEM_CERT, 0, text(identity->certificate_pem)},
            {MHD_OPTION_HTTPS_MEM_KEY, 0, text(identity->key_pem)},
            {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsPriorities)},
            {MHD_OPTION_END, 0, nullptr}}};
  }
  return Daemon(MHD_start_daemon(identity == nullptr ? kFlags : kFlags | MHD_USE_TLS, 0, nullptr,
                                 nullptr, &State::OnRequest, this, MHD_OPTION_NOTIFY_CONNECTION,
                                 &State::OnConnection, this, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 kConnectionBytesMax, MHD_OPTION_CONNECTION_LIMIT,
                                 static_cast<unsigned>(kConnectionsMax) + kConnectionsClosing,
                                 MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END));
}

void Server::State::Serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) Turn();
  for (Connection& connection : connections) Cut(connection);
  daemon.reset();
}

void Server::State::Turn() {
  TakeNext();
  const auto accepts = [this] {
    return next.With([](const Daemon& waiting) { return waiting == nullptr; });
  };
  const int of_daemon = MHD_get_daemon_info(daemon.get(), MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  std::array<pollfd, 3> fds = {{{.fd = wake.fd(), .events = POLLIN, .revents = 0},
                                {.fd = of_daemon, .events = POLLIN, .revents = 0},
                                {.fd = listener->fd(), .events = POLLIN, .revents = 0}}};
  if (::poll(fds.data(), accepts() ? 3 : 2, WaitMs()) < 0) return;  // Interrupted by a signal.
  if (fds[0].revents != 0) FinishWork();
  if (fds[2].revents != 0 && accepts()) Accept();
  const TimePoint now = clock.Now();
  for (Connection& connection : connections) {
    if (!connection.is_cut && now >= connection.deadline) Cut(connection);
  }
  // One run notices some ends, and the next one closes them. It would otherwise wait for an event.
  for (int run = 0; run < 2; ++run) MHD_run(daemon.get());
}

// Connections belong to the daemon that accepted them, so it stays while there are any.
void Server::State::TakeNext() {
  if (!connections.empty()) return;
  Daemon taken = next.With([](Daemon& waiting) { return std::move(waiting); });
  if (taken != nullptr) daemon = std::move(taken);
}

void Server::State::Accept() {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  auto* const from = reinterpret_cast<sockaddr*>(&address);
  const int fd = ::accept4(listener->fd(), from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Otherwise the client has disconnected.
    if (errno == EMFILE || errno == ENFILE) MakeRoom();
    return;
  }
  const auto open = std::ranges::count(connections, false, &Connection::is_cut);
  if (static_cast<std::size_t>(open) == kConnectionsMax) Cut(*Oldest());
  const std::uint64_t id = ++last_id;
  connections.push_back({.id = id, .fd = fd, .deadline = clock.Now() + kExchangeMax});
  if (MHD_add_connection(daemon.get(), fd, from, size) == MHD_YES) return;
  std::erase_if(connections, [id](const Connection& connection) { return connection.id == id; });
}

// No descriptor is free. Cuts the oldest connection. If there is none, waits a moment for others to
// close theirs, because the listener would wake this thread again at once.
void Server::State::MakeRoom() {
  const auto oldest = Oldest();
  if (oldest == connections.end()) {
    poll(nullptr, 0, static_cast<int>(kPauseWithoutDescriptors.count()));
  } else {
    Cut(*oldest);
  }
}

void Server::State::FinishWork() {
  std::uint64_t count = 0;
  std::ignore = ::read(wake.fd(), &count, sizeof count);
  for (WorkThread::Made& made : works->TakeMade()) {
    const auto it = std::ranges::find(connections, made.id, &Connection::id);
    if (it == connections.end() || it->waits_for_work == nullptr) continue;
    // If it fails, OnRequest() is called again, and closes the connection.
    it->is_cut = SendMade(it->waits_for_work, std::move(made.reply)) == MHD_NO;
    MHD_resume_connection(std::exchange(it->waits_for_work, nullptr));
  }
}

// libmicrohttpd closes it at its next run, because it looks ended by the client.
void Server::State::Cut(Connection& connection) {
  connection.is_cut = true;
  // First, so that no work begins for a client that knows of the end already.
  if (connection.waits_for_work != nullptr) works->Drop(connection.id);
  ::shutdown(connection.fd, SHUT_RDWR);
  if (connection.waits_for_work == nullptr) return;
  MHD_resume_connection(std::exchange(connection.waits_for_work, nullptr));
}

// Called for the head, for each part of a body, and at the end.
MHD_Result Server::State::OnRequest(void* state, MHD_Connection* connection, const char* path,
                                    const char* method, const char* /*version*/,
                                    const char* /*body*/, std::size_t* body_bytes, void** request) {
  Connection& context = ContextOf(connection);
  if (context.is_cut) return MHD_NO;
  if (std::exchange(*request, &context) == nullptr) return MHD_YES;
  // An answer before the end of the body would be lost, because closing with unread data resets.
  if (std::exchange(*body_bytes, 0) > 0) return MHD_YES;
  return static_cast<State*>(state)->Answer(connection, path, method);
}

MHD_Result Server::State::Answer(MHD_Connection* connection, const char* path,
                                 std::string_view method) {
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
    return SendAtOnce(connection, {.status = MHD_HTTP_METHOD_NOT_ALLOWED}, MHD_HTTP_HEADER_ALLOW,
                      "GET, HEAD");
  }
  const auto* head = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (head == nullptr || head->header_size > kHeadBytesMax) {
    return SendAtOnce(connection, {.status = MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE});
  }
  Server::Answer answer = handler(RequestOf(connection, path));
  if (auto* reply = std::get_if<ServerReply>(&answer)) {
    return SendAtOnce(connection, std::move(*reply));
  }
  Connection& context = ContextOf(connection);
  context.waits_for_work = connection;
  MHD_suspend_connection(connection);
  works->Add(context.id, std::get<ServerWork>(std::move(answer)));
  return MHD_YES;
}

void Server::State::OnConnection(void* state, MHD_Connection* /*connection*/, void** context,
                                 MHD_ConnectionNotificationCode code) {
  std::list<Connection>& connections = static_cast<State*>(state)->connections;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    *context = &connections.back();
  } else {
    connections.remove_if([&](const Connection& connection) { return &connection == *context; });
  }
}

// Returns the oldest that is not cut.
std::list<Connection>::iterator Server::State::Oldest() {
  return std::ranges::find(connections, false, &Connection::is_cut);
}

int Server::State::WaitMs() {
  constexpr std::int64_t kMost = 1'000;
  std::int64_t wait = -1;
  if (const auto oldest = Oldest(); oldest != connections.end()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(oldest->deadline - clock.Now()).count();
    wait = std::clamp<std::int64_t>(left, 0, kMost);
  }
  MHD_UNSIGNED_LONG_LONG pending = 0;  // Zero if it has work without an event.
  if (MHD_get_timeout(daemon.get(), &pending) == MHD_YES && pending == 0) wait = 0;
  return static_cast<int>(wait);
}

void Server::State::Wake() const {
  const std::uint64_t one = 1;
  CHECK(::write(wake.fd(), &one, sizeof one) == sizeof one);
}

}  // namespace http
