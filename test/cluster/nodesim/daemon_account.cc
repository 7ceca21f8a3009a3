#include "test/cluster/nodesim/daemon_account.h"

#include <utility>
#include <variant>

#include "pkg/base/result.h"
#include "pkg/http/curl_transport.h"
#include "pkg/json/reader.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/request.h"
#include "test/cluster/nodesim/names.h"

namespace nodesim {

namespace {

using base::Result;
using json::Value;

constexpr const char* kDaemonUserAgent = "cdom-nodesim-daemon/0.2.0";
constexpr int kUnauthorized = 401;

const kube::Resource kServiceAccounts = {"", "v1", "serviceaccounts", "ServiceAccount", true};

http::Request TokenRequest(const DaemonPod& daemon) {
  const Value pod = Value::Object(
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", daemon.key.name}, {"uid", daemon.uid}});
  http::Request request =
      kube::CreateRequest(kServiceAccounts, daemon.key.ns,
                          Value::Object({{"apiVersion", "authentication.k8s.io/v1"},
                                         {"kind", "TokenRequest"},
                                         {"spec", Value::Object({{"boundObjectRef", pod}})}}));
  request.path = kube::ResourcePath(kServiceAccounts,
                                    {.ns = daemon.key.ns, .name = std::string(kDaemonAccount)}) +
                 "/token";
  return request;
}

Result<std::string> AskForToken(const DaemonPod& daemon, http::Transport& kubelet) {
  const http::Response reply =
      TRY(kube::CheckStatus(kubelet.Send(TokenRequest(daemon)), http::Method::kPost));
  json::Parser parser;
  return std::string(TRY(parser.Parse(reply.body))["status"]["token"].AsString());
}

class Token final : public http::Credentials {
 public:
  explicit Token(std::string token) : token_(std::move(token)) {}
  std::string BearerToken() override { return token_; }
  void Invalidate() override {}

 private:
  const std::string token_;
};

}  // namespace

struct DaemonAccount::Connection {
  Connection(const http::Endpoint& endpoint, std::string bearer)
      : token(std::move(bearer)), transport(endpoint, token, kDaemonUserAgent) {}

  Token token;
  http::CurlTransport transport;
};

std::optional<DaemonPod> DaemonOf(const Action& action, const NodeState& node) {
  if (const auto* label = std::get_if<LabelPod>(&action)) {
    return DaemonPod{.key = label->key, .uid = label->uid};
  }
  if (const auto* report = std::get_if<ReportImex>(&action)) {
    return DaemonPod{.key = report->key, .uid = report->uid};
  }
  kube::Uid uid;
  if (const auto* create = std::get_if<CreateClique>(&action)) uid = create->pod;
  if (const auto* update = std::get_if<UpdateClique>(&action)) uid = update->pod;
  const auto run = node.pods.find(uid);
  if (run == node.pods.end()) return std::nullopt;
  return DaemonPod{.key = run->second.key, .uid = uid};
}

DaemonAccount::DaemonAccount(http::Endpoint endpoint) : endpoint_(std::move(endpoint)) {
  // A certificate would be looked at before the token.
  endpoint_.client_certificate_pem.clear();
  endpoint_.client_key_pem.clear();
}

DaemonAccount::~DaemonAccount() = default;

Result<http::Response> DaemonAccount::Send(const DaemonPod& daemon, const http::Request& request,
                                           http::Transport& kubelet) {
  if (!connection_ || daemon_ != daemon.uid) {
    connection_ = std::make_unique<Connection>(endpoint_, TRY(AskForToken(daemon, kubelet)));
    daemon_ = daemon.uid;
  }
  auto reply = connection_->transport.Send(request);
  if (reply && reply->status == kUnauthorized) connection_.reset();
  return reply;
}

}  // namespace nodesim
