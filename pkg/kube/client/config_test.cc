#include "pkg/kube/client/config.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/certificates.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/exec_runner.h"
#include "pkg/kube/testing/fakes.h"
#include "pkg/kube/testing/replaced.h"
#include "pkg/tls/pem.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Result;
using http::testing::Certificate;
using http::testing::CertificateAuthority;

class Config : public ::testing::Test {
 protected:
  Config() {
    std::string name = ::testing::TempDir() + "/config_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    Write("ca.crt", ca_.pem());
    Write("admin.crt", admin_.pem);
    Write("admin.key", admin_.key_pem);
    Write("other.key", other_.key_pem);
    Write("token", "from-the-file\n");
    Write("empty", "");
    Write("text", "no certificate\n");
  }
  ~Config() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }

  // A kubeconfig that works. Each test changes one thing.
  static std::string Good() {
    return R"(apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: main
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: ca.crt
contexts:
- name: prod
  context:
    cluster: main
    user: admin
    namespace: gpu
- name: spare
  context: {cluster: main, user: admin}
users:
- name: someone
  user: {token: not-used}
- name: admin
  user:
    client-certificate: admin.crt
    client-key: admin.key
)";
  }
  // The same with another user.
  static std::string GoodWithUser(const std::string& fields) {
    return Replaced(Good(), "    client-certificate: admin.crt\n    client-key: admin.key\n",
                    fields);
  }
  static std::string GoodWithCluster(const std::string& fields) {
    return Replaced(
        Good(), "    server: https://10.0.0.1:6443\n    certificate-authority: ca.crt\n", fields);
  }

  Result<ClientConfig> Load(const std::string& text, const std::string& context = "") {
    return LoadConfig(
        {.kubeconfig = Write("config", text), .context = context, .environment = Environment()},
        clock_);
  }
  Result<ClientConfig> LoadWithoutFlag(const std::string& context = "") {
    return LoadConfig({.context = context,
                       .environment = Environment(),
                       .service_account_folder = folder_ + "/serviceaccount"},
                      clock_);
  }
  std::function<std::optional<std::string>(const std::string&)> Environment() {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto it = variables_.find(name);
      if (it == variables_.end()) return std::nullopt;
      return it->second;
    };
  }
  void WriteServiceAccount() const {
    Write("serviceaccount/token", "pod-token");
    Write("serviceaccount/ca.crt", ca_.pem());
    Write("serviceaccount/namespace", "cdom-system\n");
  }

  const CertificateAuthority ca_{"cluster CA"};
  const Certificate admin_ = ca_.Issue("admin", "DNS:admin");
  const Certificate other_ = ca_.Issue("other", "DNS:other");
  base::ManualClock clock_;
  std::map<std::string, std::string> variables_;
  std::string folder_;
};

TEST_F(Config, FilesAreReadRelativeToTheKubeconfig) {
  const Result<ClientConfig> config = Load(Good());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.url, "https://10.0.0.1:6443");
  EXPECT_EQ(config->endpoint.ca_pem, ca_.pem());
  EXPECT_EQ(config->endpoint.client_certificate_pem, admin_.pem);
  EXPECT_EQ(config->endpoint.client_key_pem, admin_.key_pem);
  EXPECT_FALSE(config->endpoint.insecure);
  EXPECT_EQ(config->endpoint.proxy_url, "");
  EXPECT_EQ(config->credentials->BearerToken(), "");
  EXPECT_EQ(config->ns, "gpu");
  EXPECT_EQ(config->source, "kubeconfig " + folder_ + "/config, context prod");
}

TEST_F(Config, KC2_DataWinsOverFiles) {
  const Result<ClientConfig> config = Load(Replaced(
      Replaced(Good(), "    certificate-authority: ca.crt\n",
               "    certificate-authority: absent\n    certificate-authority-data: " +
                   tls::EncodeBase64(ca_.pem()) + "\n"),
      "    client-certificate: admin.crt\n    client-key: admin.key\n",
      "    client-certificate: absent\n    client-certificate-data: " +
          tls::EncodeBase64(other_.pem) + "\n    client-key: absent\n    client-key-data: " +
          tls::EncodeBase64(other_.key_pem) + "\n"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.ca_pem, ca_.pem());
  EXPECT_EQ(config->endpoint.client_certificate_pem, other_.pem);
  EXPECT_EQ(config->endpoint.client_key_pem, other_.key_pem);
}

TEST_F(Config, KC2_WhatAClusterSaysReachesTheEndpoint) {
  const Result<ClientConfig> config =
      Load(GoodWithCluster("    server: https://[fd00::1]:6443/k8s/clusters/c-1\n"
                           "    tls-server-name: kubernetes.default\n"
                           "    insecure-skip-tls-verify: true\n"
                           "    proxy-url: socks5://proxy:1080\n"
                           "    disable-compression: true\n"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.url, "https://[fd00::1]:6443/k8s/clusters/c-1");
  EXPECT_EQ(config->endpoint.tls_server_name, "kubernetes.default");
  EXPECT_TRUE(config->endpoint.insecure);
  EXPECT_EQ(config->endpoint.proxy_url, "socks5://proxy:1080");
  EXPECT_EQ(config->endpoint.ca_pem, "");
}

TEST_F(Config, KC4_EnvironmentsProxyIsUsedUnlessTheClusterHasOne) {
  variables_["HTTPS_PROXY"] = "http://proxy:3128";
  const Result<ClientConfig> config = Load(Good());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.proxy_url, "http://proxy:3128");
  const Result<ClientConfig> own =
      Load(GoodWithCluster("    server: https://10.0.0.1:6443\n    proxy-url: https://own:3129\n"));
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->endpoint.proxy_url, "https://own:3129");
  variables_["NO_PROXY"] = "10.0.0.0/8";
  const Result<ClientConfig> excluded = Load(Good());
  ASSERT_TRUE(excluded) << excluded.error().message;
  EXPECT_EQ(excluded->endpoint.proxy_url, "");
}

TEST_F(Config, KC3_TokenFileWinsOverToken) {
  struct Row {
    std::string user;
    std::string want;
  };
  const std::vector<Row> rows = {
      {"    token: abc\n", "abc"},
      {"    token: 12345\n", "12345"},
      {"    tokenFile: token\n", "from-the-file"},
      {"    token: abc\n    tokenFile: token\n", "from-the-file"},
      {"    token: abc\n    exec: {command: aws}\n", "abc"},
      {"    auth-provider: null\n", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    const Result<ClientConfig> config = Load(GoodWithUser(row.user));
    ASSERT_TRUE(config) << row.user << config.error().message;
    EXPECT_EQ(config->credentials->BearerToken(), row.want) << row.user;
  }
}

TEST_F(Config, ContextThatIsAskedForCountsAndHasADefaultNamespace) {
  const Result<ClientConfig> config = Load(Good(), "spare");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ns, "default");
  EXPECT_EQ(config->source, "kubeconfig " + folder_ + "/config, context spare");
}

TEST_F(Config, ContextWithoutAUserIsNobody) {
  const Result<ClientConfig> config = Load(
      Replaced(GoodWithCluster("    server: http://127.0.0.1:8001\n"), "    user: admin\n", ""));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->credentials->BearerToken(), "");
}

TEST_F(Config, JsonIsYaml) {
  const Result<ClientConfig> config = Load(
      R"({"kind":"Config","current-context":"x","clusters":[{"name":"c","cluster":{"server":"https://a"}}],)"
      R"("contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],)"
      R"("users":[{"name":"u","user":{"token":"t"}}]})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->credentials->BearerToken(), "t");
}

TEST_F(Config, EveryMistakeIsNamedWithItsPlaceAndItsFix) {
  struct Row {
    std::string text;
    std::vector<std::string> parts;  // Of the message.
  };
  const std::string ca = "    certificate-authority: ca.crt\n";
  const std::vector<Row> rows = {
      {"", {"config: the file is empty"}},
      {"# nothing\n", {"config: the file is empty"}},
      {"just text", {"config: not a kubeconfig: not a map"}},
      {"a: [b\nc: d", {"config:2", "not YAML"}},
      {"kind: Pod\n", {"config: not a kubeconfig: its kind is not Config"}},
      {"clusters: {}\n", {"config: clusters: not a list"}},
      {"clusters: [{cluster: {}}]\n", {"config: clusters[0]: name is missing"}},
      {"users: [{name: a, user: text}]\n", {"users[0] \"a\": user: not a map"}},
      {"users: [{name: a}, {name: a}]\n", {"users[1] \"a\": that name is there twice"}},
      {Replaced(Good(), "current-context: prod", "current-context: ''"),
       {"current-context: not set", "--context", "there are: \"prod\", \"spare\""}},
      {Replaced(Good(), "current-context: prod", "current-context: gone"),
       {"current-context: \"gone\" does not exist; there are: \"prod\", \"spare\""}},
      {"current-context: x\n", {"\"x\" does not exist; there are: none"}},
      {Replaced(Good(), "cluster: main\n", "cluster: gone\n"),
       {"contexts[0] \"prod\": cluster: \"gone\" does not exist; there are: \"main\""}},
      {Replaced(Good(), "    cluster: main\n", ""),
       {"contexts[0] \"prod\": cluster: missing; there are: \"main\""}},
      {Replaced(Good(), "user: admin\n", "user: gone\n"),
       {"contexts[0] \"prod\": user: \"gone\" does not exist; there are: \"admin\", \"someone\""}},
      {GoodWithCluster(ca), {"clusters[0] \"main\": server: missing; write https://host:port"}},
      {GoodWithCluster("    server: 10.0.0.1:6443\n"),
       {"server: \"10.0.0.1:6443\" is not the URL of a server; write https://"}},
      {GoodWithCluster("    server: ftp://a\n"), {"server: \"ftp://a\" is not the URL"}},
      {GoodWithCluster("    server: https://a:99999\n"), {"is not the URL of a server"}},
      {GoodWithCluster("    server: https://me:canary@a\n"), {"server: a user in the URL"}},
      {GoodWithCluster("    server: https://a/?x=1\n"), {"has a '?' or '#'"}},
      {GoodWithCluster("    server: https://a?\n"), {"has a '?' or '#'"}},
      {GoodWithCluster("    server: 'https://a#'\n"), {"has a '?' or '#'"}},
      {GoodWithCluster("    server: https://a\n    proxy-url: gopher://canary@b\n"),
       {"clusters[0] \"main\": proxy-url: not the URL of a proxy"}},
      {GoodWithCluster("    server: https://a\n    tls-server-name: a b\n"),
       {"tls-server-name: not the name of a host"}},
      {GoodWithCluster("    server: https://a\n    insecure-skip-tls-verify: maybe\n"),
       {"insecure-skip-tls-verify: write true or false"}},
      {GoodWithCluster("    server: https://a\n    insecure-skip-tls-verify: true\n" + ca),
       {"clusters[0] \"main\": insecure-skip-tls-verify: cannot be true together with "
        "certificate-authority; remove one"}},
      {Replaced(Good(), "ca.crt", "absent.crt"),
       {"clusters[0] \"main\": certificate-authority: open ", "/absent.crt: No such file"}},
      {Replaced(Good(), "ca.crt", "empty"), {"certificate-authority: ", "/empty is empty"}},
      {Replaced(Good(), "ca.crt", "text"), {"certificate-authority: no PEM certificate in it"}},
      {Replaced(Good(), ca, "    certificate-authority-data: '!'\n"),
       {"certificate-authority-data: not base64 at character 1"}},
      {Replaced(Good(), ca, "    certificate-authority-data: dGV4dA==\n"),
       {"certificate-authority-data: no PEM certificate in it"}},
      {GoodWithUser("    client-certificate: admin.crt\n"),
       {"users[1] \"admin\": client-certificate: its client-key or client-key-data is missing"}},
      {GoodWithUser("    client-key: admin.key\n"),
       {"users[1] \"admin\": client-key: its client-certificate"}},
      {Replaced(Good(), "admin.key", "other.key"),
       {"users[1] \"admin\": client-key: the key is not that of the certificate"}},
      {Replaced(Good(), "admin.key", "text"), {"client-key: no PEM private key"}},
      {Replaced(Good(), "admin.crt", "admin.key"), {"client-certificate: no PEM certificate"}},
      {Replaced(Good(), "    client-key: admin.key\n", "    client-key-data: YQ=\n"),
       {"users[1] \"admin\": client-key-data: base64 that breaks off"}},
      {GoodWithUser("    token: 'canary\n\n      2'\n"),
       {"users[1] \"admin\": token: the token has a character"}},
      {GoodWithUser("    tokenFile: absent\n"), {"users[1] \"admin\": tokenFile: open "}},
      {GoodWithUser("    tokenFile: empty\n"), {"tokenFile: read ", "the token is empty"}},
      {GoodWithUser("    exec: {command: aws}\n"),
       {"users[1] \"admin\": exec.apiVersion: missing; write client.authentication.k8s.io/v1"}},
      {GoodWithUser("    exec: aws\n"), {"users[1] \"admin\": exec: not a map"}},
      {GoodWithUser("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
                    "      command: aws\n      interactiveMode: Never\n"),
       {"users[1] \"admin\": exec: this program runs no plugins; use token, tokenFile"}},
      {GoodWithUser("    token: abc\n    as: someone\n"), {"as: impersonation is not supported"}},
      {GoodWithUser("    token: abc\n    as-groups: [a]\n"), {"as-groups: impersonation"}},
      {GoodWithUser("    username: me\n    password: canary\n"),
       {"username: a password is not supported; use token"}},
  };
  for (const Row& row : rows) {
    const Result<ClientConfig> config = Load(row.text);
    ASSERT_FALSE(config) << row.text;
    EXPECT_EQ(config.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(config.error().message.starts_with(folder_ + "/config")) << config.error().message;
    EXPECT_EQ(config.error().message.find("canary"), std::string::npos) << config.error().message;
    for (const std::string& part : row.parts) {
      EXPECT_NE(config.error().message.find(part), std::string::npos)
          << config.error().message << "\nwants: " << part;
    }
  }
}

TEST_F(Config, CR6_AuthProviderIsRefusedWithThePluginInItsPlace) {
  struct Row {
    std::string provider;
    std::string want;
  };
  const std::vector<Row> rows = {
      {"{name: gcp, config: {access-token: canary}}",
       "with gke-gcloud-auth-plugin, as `gcloud container clusters get-credentials` writes it"},
      {"{name: azure}", "with kubelogin, as `kubelogin convert-kubeconfig` writes it"},
      {"{name: oidc}", "with `kubectl oidc-login get-token`"},
      {"{name: other}", "with a plugin"},
      {"text", "with a plugin"},
  };
  for (const Row& row : rows) {
    // Also beside an exec plugin: which of them is meant?
    for (const char* beside : {"", "    exec: {command: aws}\n"}) {
      const auto config = Load(GoodWithUser("    auth-provider: " + row.provider + "\n" + beside));
      ASSERT_FALSE(config) << row.provider;
      EXPECT_EQ(config.error().message,
                folder_ +
                    "/config: users[1] \"admin\": auth-provider: not supported; in its place "
                    "use exec " +
                    row.want);
    }
  }
}

// A user of an exec plugin that prints the file `status` in the kubeconfig's folder.
class ExecConfig : public Config {
 protected:
  ExecConfig() {
    std::filesystem::permissions(
        Write("bin/plugin",
              "#!/bin/sh\nprintf '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
              "\"kind\":\"ExecCredential\",\"status\":%s}' \"$(cat \"$1/status\")\"\n"),
        std::filesystem::perms::owner_all);
    PrintsToken("first");
  }
  void Prints(const json::Value& status) {
    std::filesystem::rename(Write("next", json::Serialize(status)), folder_ + "/status");
  }
  void PrintsToken(const std::string& token) { Prints(json::Value::Object({{"token", token}})); }
  void PrintsPair(const Certificate& pair) {
    Prints(json::Value::Object(
        {{"clientCertificateData", pair.pem}, {"clientKeyData", pair.key_pem}}));
  }
  Result<ClientConfig> LoadExec(const std::string& beside = "") {
    return LoadConfig(
        {.kubeconfig =
             Write("config", GoodWithUser("    exec:\n"
                                          "      apiVersion: client.authentication.k8s.io/v1\n"
                                          "      command: bin/plugin\n"
                                          "      args: [" +
                                          folder_ +
                                          "]\n"
                                          "      interactiveMode: Never\n" +
                                          beside)),
         .environment = Environment(),
         .exec = &runner_},
        time_);
  }
  // Whether the configuration is so in the end, after the API server has rejected what it was.
  bool Becomes(const std::function<bool(const ClientConfig&)>& state) {
    return base::WaitUntil([&] {
      const auto config = LoadExec();
      if (config && state(*config)) return true;
      time_.Advance(std::chrono::minutes(10));
      if (config) config->credentials->Invalidate();
      return false;
    });
  }

  base::ManualClock time_;
  NoLog logger_;
  ExecRunner runner_{{"PATH=/usr/bin:/bin"}, std::chrono::minutes(1), time_, logger_};
};

TEST_F(ExecConfig, CR5_TokenIsWhatThePluginPrints) {
  const auto config = LoadExec();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->credentials->BearerToken(), "first");
  EXPECT_EQ(config->endpoint.client_certificate_pem, "");
}

TEST_F(ExecConfig, CR5_StaticCredentialsComeFirst) {
  std::filesystem::remove(folder_ + "/bin/plugin");
  const auto token = LoadExec("    token: static\n");
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->credentials->BearerToken(), "static");
  const auto pair = LoadExec("    client-certificate: admin.crt\n    client-key: admin.key\n");
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(pair->endpoint.client_certificate_pem, admin_.pem);
}

TEST_F(ExecConfig, M3_NewTokenIsNoOtherConfiguration) {
  const auto before = LoadExec();
  ASSERT_TRUE(before) << before.error().message;
  PrintsToken("second");
  EXPECT_TRUE(Becomes([&](const ClientConfig& config) {
    return before->credentials->BearerToken() == "second" && config.endpoint == before->endpoint &&
           config.credentials->Source() == before->credentials->Source();
  }));
}

TEST_F(ExecConfig, M3_NewCertificateIsAnotherConfiguration) {
  PrintsPair(admin_);
  const auto before = LoadExec();
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->endpoint.client_certificate_pem, admin_.pem);
  EXPECT_EQ(before->endpoint.client_key_pem, admin_.key_pem);
  PrintsPair(other_);
  EXPECT_TRUE(Becomes([&](const ClientConfig& config) {
    return config.endpoint.client_certificate_pem == other_.pem &&
           config.endpoint.client_key_pem == other_.key_pem;
  }));
}

TEST_F(ExecConfig, M3_AnotherPluginIsAnotherConfiguration) {
  const auto before = LoadExec();
  const auto after = LoadExec("      env: [{name: A, value: b}]\n");
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->credentials->Source(), after->credentials->Source());
}

TEST_F(ExecConfig, CR5_PluginThatFailsIsNamed) {
  std::filesystem::remove(folder_ + "/status");
  const auto config = LoadExec();
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(config.error().message.starts_with(folder_ + "/config: users[1] \"admin\": exec: " +
                                                 folder_ + "/bin/plugin: printed what is no JSON"))
      << config.error().message;
}

TEST_F(Config, MissingFileThatWasAskedForIsAnError) {
  const Result<ClientConfig> config =
      LoadConfig({.kubeconfig = folder_ + "/absent", .environment = Environment()}, clock_);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(config.error().message,
            "--kubeconfig: open " + folder_ + "/absent: No such file or directory");
}

TEST_F(Config, FileThatCannotBeReadIsNamedWithWhatSaysWhereItIs) {
  const auto message = [&] {
    const Result<ClientConfig> config = LoadWithoutFlag();
    return config ? std::string("it works") : config.error().message;
  };
  const std::string unreadable = folder_ + "/.kube/config";
  std::filesystem::create_directories(unreadable);
  variables_["HOME"] = folder_;
  EXPECT_EQ(message(), "$HOME: read " + unreadable + ": Is a directory");
  variables_["KUBECONFIG"] = unreadable;
  EXPECT_EQ(message(), "$KUBECONFIG: read " + unreadable + ": Is a directory");
}

TEST_F(Config, KC1_FlagComesFirstThenVariableThenPodThenHome) {
  const auto source_of = [](const Result<ClientConfig>& config) {
    return config ? config->source : config.error().message;
  };
  Write(".kube/config", GoodWithUser("    token: home\n"));
  Write(".kube/ca.crt", ca_.pem());
  variables_["HOME"] = folder_;
  EXPECT_EQ(source_of(LoadWithoutFlag()), "kubeconfig " + folder_ + "/.kube/config, context prod");
  WriteServiceAccount();
  variables_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
  variables_["KUBERNETES_SERVICE_PORT"] = "443";
  EXPECT_EQ(source_of(LoadWithoutFlag()), "in-cluster");
  EXPECT_EQ(source_of(LoadWithoutFlag("spare")),
            "kubeconfig " + folder_ + "/.kube/config, context spare");
  variables_["KUBECONFIG"] = Write("variable", Good());
  EXPECT_EQ(source_of(LoadWithoutFlag()), "kubeconfig " + folder_ + "/variable, context prod");
  EXPECT_EQ(source_of(Load(Good())), "kubeconfig " + folder_ + "/config, context prod");
}

TEST_F(Config, KC1_FirstFileToSetSomethingWinsAndAbsentOnesAreLetPass) {
  const std::string first =
      Write("a/first",
            "contexts:\n"
            "- {name: prod, context: {cluster: main, user: u, namespace: a}}\n"
            "users:\n"
            "- {name: u, user: {tokenFile: token}}\n");
  Write("a/token", "relative-to-a");
  const std::string second = Write("b/second", Good());
  Write("b/ca.crt", ca_.pem());
  variables_["KUBECONFIG"] =
      folder_ + "/absent:" + first + ":" + Write("nothing", " \n") + ":" + second;
  const Result<ClientConfig> config = LoadWithoutFlag();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ns, "a");
  EXPECT_EQ(config->credentials->BearerToken(), "relative-to-a");
  EXPECT_EQ(config->endpoint.url, "https://10.0.0.1:6443");
  EXPECT_EQ(config->endpoint.client_certificate_pem, "");
}

TEST_F(Config, NothingUsableSaysWhereItLooked) {
  variables_["HOME"] = folder_;
  const Result<ClientConfig> nothing = LoadWithoutFlag();
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kInvalid);
  for (const std::string& part : {std::string("--kubeconfig"), std::string("$KUBECONFIG"),
                                  folder_ + "/serviceaccount", folder_ + "/.kube/config"}) {
    EXPECT_NE(nothing.error().message.find(part), std::string::npos) << nothing.error().message;
  }
  variables_["KUBECONFIG"] = folder_ + "/absent";
  const Result<ClientConfig> absent = LoadWithoutFlag();
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().message.starts_with("$KUBECONFIG is " + folder_ + "/absent"))
      << absent.error().message;
}

TEST_F(Config, KC5_PodSpeaksToTheServiceWithItsToken) {
  WriteServiceAccount();
  variables_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
  variables_["KUBERNETES_SERVICE_PORT"] = "443";
  const Result<ClientConfig> config = LoadWithoutFlag();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.url, "https://10.96.0.1:443");
  EXPECT_EQ(config->endpoint.ca_pem, ca_.pem());
  EXPECT_EQ(config->credentials->BearerToken(), "pod-token");
  EXPECT_EQ(config->ns, "cdom-system");

  variables_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  const Result<ClientConfig> ipv6 = LoadWithoutFlag();
  ASSERT_TRUE(ipv6) << ipv6.error().message;
  EXPECT_EQ(ipv6->endpoint.url, "https://[fd00::1]:443");
}

TEST_F(Config, KC5_BrokenServiceAccountIsNamed) {
  WriteServiceAccount();
  variables_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
  variables_["KUBERNETES_SERVICE_PORT"] = "443";
  const auto message = [&] {
    const Result<ClientConfig> config = LoadWithoutFlag();
    return config ? std::string("it works") : config.error().message;
  };
  Write("serviceaccount/token", "\n");
  EXPECT_EQ(message(), "read " + folder_ + "/serviceaccount/token: the token is empty");
  Write("serviceaccount/ca.crt", "text");
  EXPECT_EQ(message(), folder_ + "/serviceaccount/ca.crt: no PEM certificate in it");
  std::filesystem::remove(folder_ + "/serviceaccount/ca.crt");
  EXPECT_EQ(message(), "open " + folder_ + "/serviceaccount/ca.crt: No such file or directory");
}

}  // namespace
}  // namespace kube
