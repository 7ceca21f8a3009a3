// A kubeconfig and what it names:
//  - it is read, or refused with kInvalid, a message that begins with the file, and no secret;
//  - what was read of it, written again, reads as the same;
//  - of two files that are merged, the first keeps all that it says.
//
// It may name files of this machine, which are read and nothing else; those of the corpus name
// none.
#include "pkg/kube/client/kubeconfig.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/json/utf8.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/kubeconfig_reader.h"
#include "pkg/kube/client/token_file.h"
#include "test/fuzz/fuzz.h"

namespace {

using json::Value;
using kube::Kubeconfig;

constexpr const char* kPath = "/nonexistent/folder/config";

Value Write(const Kubeconfig::Entries& entries, const char* kind) {
  Value list = Value::Array();
  for (const auto& [name, entry] : entries) {
    Value fields = Value::Object();
    for (const auto& [field, text] : entry.texts) fields[field] = text;
    for (const auto& [field, value] : entry.structures) {
      fields[field] = value.IsNull() ? Value::Array() : value;
    }
    list.Append(Value::Object({{"name", name}, {kind, std::move(fields)}}));
  }
  return list;
}

// As JSON, which is YAML too.
std::string Write(const Kubeconfig& config) {
  return json::Serialize(Value::Object({{"kind", "Config"},
                                        {"current-context", config.current_context},
                                        {"clusters", Write(config.clusters, "cluster")},
                                        {"users", Write(config.users, "user")},
                                        {"contexts", Write(config.contexts, "context")}}));
}

// YAML can spell others, which are no JSON.
bool HasNamesInUtf8(const Kubeconfig& config) {
  const auto is_utf8 = [](const auto& named) { return json::IsUtf8(named.first); };
  const auto has_names = [&](const auto& entry) {
    return is_utf8(entry) && std::ranges::all_of(entry.second.texts, is_utf8) &&
           std::ranges::all_of(entry.second.structures, is_utf8);
  };
  return std::ranges::all_of(
      std::array{&config.clusters, &config.users, &config.contexts},
      [&](const auto* entries) { return std::ranges::all_of(*entries, has_names); });
}

void CheckContexts(const Kubeconfig& config) {
  const base::ManualClock clock;
  for (const auto& [name, context] : config.contexts) {
    const auto read = kube::ReadKubeconfig(config, kPath, {.context = name}, clock);
    if (!read) {
      CHECK(read.error().code == base::ErrorCode::kInvalid);
      for (const auto& [user, entry] : config.users) {
        const std::string token = entry.Text("token");
        CHECK(token.size() < 16 || context.Text("user") != user || user == token ||
              read.error().message.find(token) == std::string::npos);
      }
      continue;
    }
    CHECK(kube::CheckServerUrl(read->endpoint.url));
    CHECK(read->credentials != nullptr);
    CHECK(!read->endpoint.insecure || read->endpoint.ca_pem.empty());
    CHECK(read->endpoint.client_certificate_pem.empty() == read->endpoint.client_key_pem.empty());
    for (const char c : read->credentials->BearerToken()) CHECK(c > ' ' && c <= '~');
  }
}

}  // namespace

FUZZ_TARGET(kubeconfig, bytes) {
  const auto config = kube::ParseKubeconfig(std::string(bytes), kPath);
  if (!config) {
    CHECK(config.error().code == base::ErrorCode::kInvalid);
    CHECK(config.error().message.starts_with(kPath));
    return;
  }
  CheckContexts(*config);
  if (!HasNamesInUtf8(*config)) return;
  const std::string written = Write(*config);
  const auto again = kube::ParseKubeconfig(written, kPath);
  CHECK(again);
  fuzz::CheckSame(Write(*again), written);
  Kubeconfig merged = *config;
  Kubeconfig other = *config;
  for (auto* entries : {&other.clusters, &other.users, &other.contexts}) {
    for (auto& [name, entry] : *entries) entry.texts["server"] = "other";
  }
  kube::Merge(merged, std::move(other));
  fuzz::CheckSame(Write(merged), written);
}

// A bearer token: visible ASCII, without the blanks around it, and no other; so it stands in one
// header and nowhere else.
FUZZ_TARGET(token, text) {
  const auto token = kube::CheckToken(text);
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!token) {
    CHECK(token.error().message.size() < 100);
    return;
  }
  CHECK(!token->empty() && std::ranges::all_of(*token, is_visible));
  const std::size_t at = text.find(*token);
  CHECK(at != std::string_view::npos);
  CHECK(text.substr(0, at).find_first_not_of(" \t\r\n") == std::string_view::npos);
  CHECK(text.substr(at + token->size()).find_first_not_of(" \t\r\n") == std::string_view::npos);
  CHECK(kube::CheckToken(*token) == *token);
}
