#include "test/cluster/nodesim/control.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace nodesim {

namespace {

using base::ErrorCode;
using base::Result;

using Operation = std::function<Result<void>(const std::string& node)>;

struct Reply {
  unsigned status = MHD_HTTP_OK;
  std::string text = {};
};

Reply ReplyOf(const Result<void>& result) {
  if (result) return {.text = "ok"};
  unsigned status = MHD_HTTP_BAD_GATEWAY;  // The API server refused, or could not be asked.
  if (result.error().code == ErrorCode::kNotFound) status = MHD_HTTP_NOT_FOUND;
  if (result.error().code == ErrorCode::kInvalid) status = MHD_HTTP_BAD_REQUEST;
  if (result.error().code == ErrorCode::kDeadlineExceeded) status = MHD_HTTP_GATEWAY_TIMEOUT;
  return {.status = status, .text = result.error().message};
}

MHD_Result Send(MHD_Connection* connection, const Reply& reply) {
  const std::string text = reply.text + "\n";
  MHD_Response* response = MHD_create_response_from_buffer(
      text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
  const MHD_Result queued = MHD_queue_response(connection, reply.status, response);
  MHD_destroy_response(response);
  return queued;
}

Result<kube::ObjectKey> ParseKey(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return base::Fail(ErrorCode::kInvalid, "Name the pod as NAMESPACE/NAME, not '" + text + "'.");
  }
  return kube::ObjectKey{.ns = text.substr(0, slash), .name = text.substr(slash + 1)};
}

Result<void> ForceDelete(Simulator& simulator, const std::string& pod) {
  return simulator.ForceDelete(TRY(ParseKey(pod)));
}

}  // namespace

struct ControlServer::Server {
  Simulator& simulator;
  const std::function<void()> on_quit;
  const std::map<std::string_view, Operation> operations;
  MHD_Daemon* daemon = nullptr;
  // What a request carries around: the address of one of these.
  char seen = 0;
  char quits = 0;

  Reply Answer(MHD_Connection* connection, std::string_view method, std::string_view path) const;

  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* version, const char* body,
                              std::size_t* body_bytes, void** context);
  static void OnCompleted(void* self, MHD_Connection* connection, void** context,
                          MHD_RequestTerminationCode code);
};

namespace {

std::map<std::string_view, Operation> OperationsOf(Simulator& simulator) {
  return {
      {"/kill", [&](const std::string& node) { return simulator.Kill(node); }},
      {"/revive", [&](const std::string& node) { return simulator.Revive(node); }},
      {"/reboot", [&](const std::string& node) { return simulator.Reboot(node); }},
      {"/remove", [&](const std::string& node) { return simulator.Remove(node); }},
      {"/stall-daemon", [&](const std::string& node) { return simulator.StallDaemon(node, true); }},
      {"/unstall-daemon",
       [&](const std::string& node) { return simulator.StallDaemon(node, false); }},
      {"/stop-plugin", [&](const std::string& node) { return simulator.StopPlugin(node, true); }},
      {"/start-plugin", [&](const std::string& node) { return simulator.StopPlugin(node, false); }},
      {"/reap", [&](const std::string& node) { return simulator.ReapOrphans(node); }},
  };
}

}  // namespace

Reply ControlServer::Server::Answer(MHD_Connection* connection, std::string_view method,
                                    std::string_view path) const {
  const auto parameter = [connection](const char* name) -> std::string {
    const char* value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    return value == nullptr ? "" : value;
  };
  if (method == MHD_HTTP_METHOD_GET && path == "/state") {
    return {.text = json::Serialize(simulator.State())};
  }
  if (method == MHD_HTTP_METHOD_GET && path == "/healthz") {
    if (simulator.IsSetUp()) return {.text = "ok"};
    return {.status = MHD_HTTP_SERVICE_UNAVAILABLE,
            .text = std::to_string(simulator.nodes_set_up()) + " nodes are set up so far."};
  }
  if (method == MHD_HTTP_METHOD_POST) {
    if (const auto it = operations.find(path); it != operations.end()) {
      return ReplyOf(it->second(parameter("node")));
    }
    if (path == "/move") return ReplyOf(simulator.Move(parameter("node"), parameter("clique")));
    if (path == "/force-delete") return ReplyOf(ForceDelete(simulator, parameter("pod")));
    if (path == "/quit") {
      return ReplyOf(parameter("cleanup") == "1" ? simulator.CleanUp() : Result<void>());
    }
  }
  return {.status = MHD_HTTP_NOT_FOUND, .text = "There is no " + std::string(path) + "."};
}

MHD_Result ControlServer::Server::OnRequest(void* self, MHD_Connection* connection,
                                            const char* path, const char* method,
                                            const char* /*version*/, const char* /*body*/,
                                            std::size_t* body_bytes, void** context) {
  auto& server = *static_cast<Server*>(self);
  if (std::exchange(*context, &server.seen) == nullptr) return MHD_YES;
  if (std::exchange(*body_bytes, 0) > 0) return MHD_YES;  // No operation has a body.
  const MHD_Result sent = Send(connection, server.Answer(connection, method, path));
  if (std::string_view(path) == "/quit") *context = &server.quits;
  return sent;
}

void ControlServer::Server::OnCompleted(void* self, MHD_Connection* /*connection*/, void** context,
                                        MHD_RequestTerminationCode /*code*/) {
  const auto& server = *static_cast<const Server*>(self);
  if (*context == &server.quits) server.on_quit();
}

ControlServer::ControlServer(Simulator& simulator, std::function<void()> on_quit)
    : server_(new Server{.simulator = simulator,
                         .on_quit = std::move(on_quit),
                         .operations = OperationsOf(simulator)}) {}

ControlServer::~ControlServer() {
  if (server_->daemon != nullptr) MHD_stop_daemon(server_->daemon);
}

Result<int> ControlServer::Start(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // A thread for each request, because an operation may wait for the API server.
  constexpr unsigned kFlags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD;
  server_->daemon = MHD_start_daemon(
      kFlags, 0, nullptr, nullptr, &Server::OnRequest, server_.get(), MHD_OPTION_SOCK_ADDR,
      reinterpret_cast<const sockaddr*>(&address), MHD_OPTION_NOTIFY_COMPLETED,
      &Server::OnCompleted, server_.get(), MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_END);
  if (server_->daemon == nullptr) {
    return base::Fail(ErrorCode::kInvalid, "cannot listen on 127.0.0.1:" + std::to_string(port) +
                                               "; choose another --control-port, or 0 for any");
  }
  return MHD_get_daemon_info(server_->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace nodesim
