#include "pkg/http/curl_target.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "pkg/base/check.h"
#include "pkg/http/curl_url.h"

namespace http {
namespace {

void SetSocketOption(int fd, int level, int name, int value) {
  // A refusal is ignored: a peer that is watched less closely is better than no connection.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

// Opens sockets that child processes do not inherit; libcurl 7.88 lets them. Notices a dead peer
// within 60 s when idle (30 + 3 x 10), and within 45 s while data is unacknowledged and keepalive
// does not run. libcurl has no option for the count and the timeout.
curl_socket_t OpenSocket(void* /*unused*/, curlsocktype /*purpose*/, curl_sockaddr* address) {
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0 || address->socktype != SOCK_STREAM) return fd;
  SetSocketOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetSocketOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  SetSocketOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  SetSocketOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  SetSocketOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 45'000);
  return fd;
}

void SetBlob(CURL* easy, CURLoption option, const std::string& text) {
  if (text.empty()) return;
  // libcurl does not write to it. The field is not const because it may own a copy.
  curl_blob blob = {
      .data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

// Like Go, lets the proxy resolve the name. libcurl's "socks5" would resolve it here.
std::string ProxyUrl(const std::string& url) {
  constexpr std::string_view kSocks5 = "socks5://";
  return url.starts_with(kSocks5) ? "socks5h://" + url.substr(kSocks5.size()) : url;
}

}  // namespace

CurlList Append(CurlList list, const std::string& text) {
  curl_slist* longer = curl_slist_append(list.get(), text.c_str());
  CHECK(longer != nullptr);
  static_cast<void>(list.release());  // `longer` owns it.
  return CurlList(longer);
}

CurlTarget::CurlTarget(Endpoint endpoint, std::string user_agent)
    : endpoint_(std::move(endpoint)), user_agent_(std::move(user_agent)), base_url_(endpoint_.url) {
  while (base_url_.ends_with('/')) base_url_.pop_back();
  host_and_port_ = base_url_;
  const CurlUrl url(curl_url());
  CHECK(url != nullptr);
  if (curl_url_set(url.get(), CURLUPART_URL, base_url_.c_str(), 0) != CURLUE_OK) return;

  scheme_ = PartOf(url, CURLUPART_SCHEME);
  const std::string host = PartOf(url, CURLUPART_HOST);
  const std::string port = PartOf(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  host_and_port_ = host + ":" + port;
  server_name_ = host;
  const std::string& wanted = endpoint_.tls_server_name;
  if (scheme_ != "https" || wanted.empty() || wanted == host) return;

  // libcurl verifies the name in the URL, so the URL gets the name to verify. CONNECT_TO connects
  // to the real host. The Host header keeps the name that the server knows.
  const std::string own_port = PartOf(url, CURLUPART_PORT);
  host_header_ = own_port.empty() ? host : host_and_port_;
  server_name_ = wanted.find(':') == std::string::npos ? wanted : "[" + wanted + "]";
  connect_to_ = Append(nullptr, "::" + host_and_port_);
  if (curl_url_set(url.get(), CURLUPART_HOST, server_name_.c_str(), 0) != CURLUE_OK) return;
  base_url_ = PartOf(url, CURLUPART_URL);
  while (base_url_.ends_with('/')) base_url_.pop_back();
}

void CurlTarget::ApplyTo(CURL* easy) const {
  // Allows only the protocol of the URL.
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, scheme_ == "http" ? "http" : "https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);  // A token must not reach another host.
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent_.c_str());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
  // Otherwise dropping an exchange waits for the lookup of its name, however long that takes.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);

  // Set even if empty: libcurl would read the environment, and handle NO_PROXY differently from
  // Kubernetes' other clients.
  curl_easy_setopt(easy, CURLOPT_PROXY, ProxyUrl(endpoint_.proxy_url).c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");

  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 10L);
  // Less than the 90 s after which an API server closes an idle connection, and the 60 s of many
  // proxies. A write into a closing connection has an unknown outcome.
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, 50L);
  // Spreads load again after API servers were added.
  curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, 600L);
  if (connect_to_ != nullptr) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  ApplyTls(easy);
}

void CurlTarget::ApplyTls(CURL* easy) const {
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, endpoint_.insecure ? 0L : 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, endpoint_.insecure ? 0L : 2L);
  if (!endpoint_.ca_pem.empty()) {
    SetBlob(easy, CURLOPT_CAINFO_BLOB, endpoint_.ca_pem);
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);             // Or system CAs count, too.
    SetBlob(easy, CURLOPT_PROXY_CAINFO_BLOB, endpoint_.ca_pem);  // As Go does for https proxies.
    curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, nullptr);
  }
  SetBlob(easy, CURLOPT_SSLCERT_BLOB, endpoint_.client_certificate_pem);
  SetBlob(easy, CURLOPT_SSLKEY_BLOB, endpoint_.client_key_pem);
}

}  // namespace http
