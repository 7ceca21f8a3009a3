#include "pkg/kube/runtime/metrics_server.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "pkg/base/file.h"
#include "pkg/json/utf8.h"
#include "pkg/tls/pem.h"
#include "pkg/tls/self_signed.h"

namespace kube {
namespace {

using base::Result;

constexpr int kNoToken = 401;
constexpr int kNotAllowed = 403;
constexpr int kOtherPath = 404;
constexpr int kNotJudged = 503;

constexpr std::chrono::seconds kLookEvery{5};
constexpr std::chrono::hours kOwnLasts{24 * 30};
constexpr std::size_t kFileBytesMax = 256U << 10;
constexpr std::size_t kUserMax = 200;

// Returns the token of "Bearer TOKEN". Empty if the header has another form.
std::string TokenOf(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  const bool is_bearer =
      authorization.size() > kScheme.size() &&
      std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char wanted, char c) {
        return wanted == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
      });
  return is_bearer ? std::string(authorization.substr(kScheme.size())) : "";
}

}  // namespace

MetricsServer::MetricsServer(MetricsServerOptions options, http::Transport& reviews,
                             const base::Clock& clock, base::Logger& logger)
    : options_(std::move(options)),
      clock_(clock),
      logger_(logger),
      reviews_(options_.path, reviews, clock),
      server_([this](const http::ServerRequest& request) { return Answer(request); }, clock) {}

void MetricsServer::Poll() {
  const base::Clock::TimePoint now = clock_.Now();
  if (options_.address.empty() || now < next_look_) return;
  next_look_ = now + kLookEvery;
  const Result<void> done = serves_ ? Renew() : Start();
  if (!done && done.error().message != said_) {
    logger_.Error(serves_ ? "Serving metrics with the previous certificate, will retry"
                          : "No metrics are served over TLS, will retry",
                  {{"err", done.error().message}});
  }
  said_ = done ? "" : done.error().message;
}

Result<void> MetricsServer::Start() {
  tls::Identity identity = TRY(Load());
  const int port = TRY(server_.Start(options_.address, identity));
  serves_ = true;
  used_ = std::move(identity);
  logger_.Info("Serving metrics over TLS", {{"port", std::to_string(port)}});
  return {};
}

Result<void> MetricsServer::Renew() {
  if (options_.certificate_file.empty() && clock_.Now() < next_own_) return {};
  tls::Identity latest = TRY(Load());
  if (latest == used_) {
    next_.reset();
    return {};
  }
  const bool is_whole = options_.certificate_file.empty() || next_ == latest;
  next_ = latest;
  if (!is_whole) return {};
  TRY(server_.Use(latest));
  used_ = std::move(latest);
  next_.reset();
  logger_.Info("Serving metrics with a new certificate");
  return {};
}

Result<tls::Identity> MetricsServer::Load() {
  if (options_.certificate_file.empty()) {
    next_own_ = clock_.Now() + kOwnLasts;
    return tls::MakeSelfSigned(options_.dns_name);
  }
  tls::Identity identity = {
      .certificate_pem = TRY(base::ReadFile(options_.certificate_file, kFileBytesMax)),
      .key_pem = TRY(base::ReadFile(options_.key_file, kFileBytesMax))};
  TRY(tls::CheckPair(identity.certificate_pem, identity.key_pem)
          .map_error(base::While(options_.certificate_file + " and " + options_.key_file)));
  return identity;
}

http::Server::Answer MetricsServer::Answer(const http::ServerRequest& request) {
  if (request.path != options_.path) {
    return http::ServerReply{.status = kOtherPath, .body = "not found\n"};
  }
  std::string token = TokenOf(request.authorization);
  if (token.empty()) {
    return http::ServerReply{
        .status = kNoToken,
        .body = "401: send the bearer token of an account that may get " + options_.path + "\n"};
  }
  return [this, token = std::move(token)] { return Reply(token); };
}

http::ServerReply MetricsServer::Reply(const std::string& token) {
  const Result<AccessVerdict> verdict = reviews_.Check(token);
  const std::string said = verdict ? "" : verdict.error().message;
  if (said != std::exchange(said_of_reviews_, said) && !verdict) {
    logger_.Warning("Refusing metrics, because the API server does not review tokens",
                    {{"err", said}});
  }
  if (!verdict) {
    return {.status = kNotJudged,
            .body = "503: the API server did not say who may read this; try again\n"};
  }
  switch (verdict->access) {
    case Access::kAllowed:
      return MetricsPage(options_.metrics);
    case Access::kForbidden:
      return {.status = kNotAllowed,
              .body = "403: " + json::OneLine(verdict->user, kUserMax) + " may not get " +
                      options_.path +
                      ": grant it a ClusterRole with that path in nonResourceURLs\n"};
    case Access::kNotAuthenticated:
      break;
  }
  return {.status = kNoToken, .body = "401: the API server does not know this token\n"};
}

}  // namespace kube
