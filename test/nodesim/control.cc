#include "test/nodesim/control.h"

#include <httplib.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nodesim {

namespace {

using base::ErrorCode;
using base::Result;

constexpr const char* kText = "text/plain";

void Answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", kText);
}

void Answer(httplib::Response& response, const Result<void>& result) {
  if (result) return Answer(response, 200, "ok");
  int status = 502;  // The API server refused, or could not be asked.
  if (result.error().code == ErrorCode::kNotFound) status = 404;
  if (result.error().code == ErrorCode::kInvalid) status = 400;
  if (result.error().code == ErrorCode::kDeadlineExceeded) status = 504;
  Answer(response, status, result.error().message);
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
  // No operation has a body, and without this the server waits for the one that `curl -X POST` does
  // not announce.
  void Post(const char* path,
            std::function<void(const httplib::Request&, httplib::Response&)> handler) {
    http.Post(path, [handler = std::move(handler)](
                        const httplib::Request& request, httplib::Response& response,
                        const httplib::ContentReader& /*body*/) { handler(request, response); });
  }

  httplib::Server http;
  std::jthread thread;
};

ControlServer::ControlServer(Simulator& simulator, std::function<void()> on_quit)
    : server_(std::make_unique<Server>()) {
  httplib::Server& http = server_->http;
  http.new_task_queue = [] {
    constexpr std::size_t kThreads = 4;  // An operation may wait for the API server.
    return new httplib::ThreadPool(kThreads);
  };
  using Operation = std::function<Result<void>(const std::string& node)>;
  const std::vector<std::pair<const char*, Operation>> operations = {
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
  for (const auto& [path, handler] : operations) {
    server_->Post(
        path, [operation = handler](const httplib::Request& request, httplib::Response& response) {
          Answer(response, operation(request.get_param_value("node")));
        });
  }
  server_->Post("/move", [&](const httplib::Request& request, httplib::Response& response) {
    Answer(response,
           simulator.Move(request.get_param_value("node"), request.get_param_value("clique")));
  });
  server_->Post("/force-delete", [&](const httplib::Request& request, httplib::Response& response) {
    Answer(response, ForceDelete(simulator, request.get_param_value("pod")));
  });
  http.Get("/state", [&](const httplib::Request& /*request*/, httplib::Response& response) {
    response.set_content(json::Serialize(simulator.State()) + "\n", "application/json");
  });
  http.Get("/healthz", [&](const httplib::Request& /*request*/, httplib::Response& response) {
    if (simulator.IsSetUp()) return Answer(response, 200, "ok");
    Answer(response, 503, std::to_string(simulator.nodes_set_up()) + " nodes are set up so far.");
  });
  server_->Post("/quit", [&simulator, on_quit = std::move(on_quit)](const httplib::Request& request,
                                                                    httplib::Response& response) {
    const bool clean_up = request.get_param_value("cleanup") == "1";
    Answer(response, clean_up ? simulator.CleanUp() : Result<void>());
    on_quit();
  });
}

ControlServer::~ControlServer() { server_->http.stop(); }

Result<int> ControlServer::Start(int port) {
  constexpr const char* kHost = "127.0.0.1";
  httplib::Server& http = server_->http;
  const int bound =
      port == 0 ? http.bind_to_any_port(kHost) : (http.bind_to_port(kHost, port) ? port : -1);
  if (bound <= 0) {
    return base::Fail(ErrorCode::kInvalid, "cannot listen on " + std::string(kHost) + ":" +
                                               std::to_string(port) +
                                               "; choose another --control-port, or 0 for any");
  }
  server_->thread = std::jthread([&http] { http.listen_after_bind(); });
  return bound;
}

}  // namespace nodesim
