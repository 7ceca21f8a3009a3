#include "pkg/kube/client/exec_plugin.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/testing/certificates.h"
#include "pkg/json/value.h"
#include "pkg/kube/testing/replaced.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Result;
using http::testing::Certificate;
using http::testing::CertificateAuthority;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kV1Beta1 = "client.authentication.k8s.io/v1beta1";

// ---- What a kubeconfig says.

constexpr const char* kGood = R"({
  "apiVersion": "client.authentication.k8s.io/v1", "command": "plugin", "args": ["--x", ""],
  "env": [{"name": "A", "value": "1"}, {"name": "B"}], "installHint": "install it",
  "interactiveMode": "IfAvailable", "provideClusterInfo": false, "futureField": {}})";

Result<ExecPlugin> Read(const std::string& exec, const std::string& extensions = "[]") {
  const auto parsed = json::Parse(exec);
  EXPECT_TRUE(parsed) << exec;
  const Kubeconfig::Entry user = {.where = "/c: users[1] \"admin\"",
                                  .folder = "/home/me/.kube",
                                  .structures = {{"exec", *parsed}}};
  const Kubeconfig::Entry cluster = {.texts = {{"proxy-url", "http://proxy:1"}},
                                     .structures = {{"extensions", *json::Parse(extensions)}}};
  return ReadExecPlugin(user, cluster,
                        {.url = "https://a:6443",
                         .ca_pem = "pem",
                         .tls_server_name = "name",
                         .proxy_url = "http://proxy:1"});
}

TEST(ReadExecPlugin, CR5_EveryFieldIsRead) {
  const auto plugin = Read(kGood);
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_EQ(plugin->where, "/c: users[1] \"admin\": exec");
  EXPECT_EQ(plugin->api_version, kV1);
  EXPECT_EQ(plugin->command, "plugin");
  EXPECT_EQ(plugin->arguments, std::vector<std::string>({"--x", ""}));
  const std::vector<std::pair<std::string, std::string>> variables = {{"A", "1"}, {"B", ""}};
  EXPECT_EQ(plugin->variables, variables);
  EXPECT_EQ(plugin->install_hint, "install it");
  EXPECT_EQ(plugin->info,
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"interactive":false}})");
}

TEST(ReadExecPlugin, CR5_CommandWithASlashBeginsAtTheKubeconfigsFolder) {
  const auto command = [](const std::string& written) {
    const auto plugin = Read(Replaced(kGood, R"("plugin")", '"' + written + '"'));
    return plugin ? plugin->command : plugin.error().message;
  };
  EXPECT_EQ(command("plugin"), "plugin");
  EXPECT_EQ(command("bin/plugin"), "/home/me/.kube/bin/plugin");
  EXPECT_EQ(command("../plugin"), "/home/me/.kube/../plugin");
  EXPECT_EQ(command("/opt/plugin"), "/opt/plugin");
}

TEST(ReadExecPlugin, CR5_InteractiveModeIsNeededInV1Alone) {
  const std::string without = Replaced(kGood, R"("interactiveMode": "IfAvailable",)", "");
  EXPECT_FALSE(Read(without));
  EXPECT_TRUE(Read(Replaced(without, kV1, kV1Beta1)));
  EXPECT_TRUE(Read(Replaced(kGood, "IfAvailable", "Never")));
}

TEST(ReadExecPlugin, CR5_PluginThatWantsToIsToldOfTheClusterAndItsConfig) {
  const auto plugin =
      Read(Replaced(kGood, "false", "true"),
           R"([{"name":"other","extension":1},)"
           R"({"name":"client.authentication.k8s.io/exec","extension":{"a":[1]}}])");
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_EQ(plugin->info,
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"interactive":false,"cluster":{"server":"https://a:6443",)"
            R"("tls-server-name":"name","certificate-authority-data":"cGVt",)"
            R"("proxy-url":"http://proxy:1","config":{"a":[1]}}}})");
}

TEST(ReadExecPlugin, CR5_EveryMistakeIsNamedWithItsFieldAndItsFix) {
  struct Row {
    std::string from;
    std::string to;
    std::string want;  // Of the message.
  };
  const std::vector<Row> rows = {
      {kV1, "", ": exec.apiVersion: missing; write client.authentication.k8s.io/v1 or "},
      {kV1, "client.authentication.k8s.io/v1alpha1",
       ": exec.apiVersion: \"client.authentication.k8s.io/v1alpha1\" is not supported; write "},
      {"\"plugin\"", "\"\"", ": exec.command: missing; write"},
      {"\"plugin\"", "7", ": exec.command: not a text; write it in quotes"},
      {"plugin", "a\\u0000b", ": exec.command: has a NUL byte"},
      {"IfAvailable", "Always", ": exec.interactiveMode: Always wants somebody at a terminal"},
      {"IfAvailable", "", ": exec.interactiveMode: missing; write Never or IfAvailable"},
      {"IfAvailable", "never", ": exec.interactiveMode: \"never\" is not known; write Never or"},
      {R"(["--x", ""])", "{}", ": exec.args: not a list"},
      {R"(["--x", ""])", "[\"\", 1]", ": exec.args[1]: not a text; write it in quotes"},
      {R"("A", "value": "1")", R"("", "value": "1")", ": exec.env[0].name: missing"},
      {"\"A\"", "\"A=B\"", ": exec.env[0].name: has a '='"},
      {"\"1\"", "true", ": exec.env[0].value: not a text; write it in quotes"},
      {"false", "\"yes\"", ": exec.provideClusterInfo: write true or false"},
      {"\"install it\"", "[]", ": exec.installHint: not a text"},
  };
  for (const Row& row : rows) {
    const auto plugin = Read(Replaced(kGood, row.from, row.to));
    ASSERT_FALSE(plugin) << row.to;
    EXPECT_EQ(plugin.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(plugin.error().message.starts_with("/c: users[1] \"admin\"" + row.want))
        << plugin.error().message;
  }
  EXPECT_FALSE(Read("[]"));
}

TEST(ReadExecPlugin, CR5_IdentityIsAnotherForWhateverIsAnother) {
  const std::string identity = Read(kGood)->Identity();
  EXPECT_EQ(Read(kGood)->Identity(), identity);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"\"plugin\"", "\"other\""}, {"--x", "--y"},    {"\"1\"", "\"2\""},
      {"install it", "do"},        {"false", "true"}, {R"(, ""])", "]"},
  };
  for (const auto& [from, to] : changes) {
    EXPECT_NE(Read(Replaced(kGood, from, to))->Identity(), identity) << to;
  }
}

// ---- What a plugin prints.

class DecodeExecCredentialTest : public ::testing::Test {
 protected:
  static std::string Printed(const std::string& status) {
    return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
           status + "}\n";
  }
  Result<ExecCredential> Decode(const std::string& printed) const {
    return DecodeExecCredential(printed, kV1, clock_.Wall());
  }
  std::string PrintedPair(const std::string& certificate, const std::string& key) const {
    return Printed(json::Serialize(
        json::Value::Object({{"clientCertificateData", certificate}, {"clientKeyData", key}})));
  }

  const CertificateAuthority ca_{"CA"};
  const Certificate admin_ = ca_.Issue("admin", "DNS:admin");
  const Certificate other_ = ca_.Issue("other", "DNS:other");
  base::ManualClock clock_;  // At the start of 2026.
};

TEST_F(DecodeExecCredentialTest, CR5_TokenAndPairAreTaken) {
  const auto token = Decode(Printed(R"({"token":"abc","expirationTimestamp":null})"));
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->token, "abc");
  EXPECT_EQ(token->client_key_pem, "");
  EXPECT_FALSE(token->expires_at);

  const auto pair = Decode(PrintedPair(admin_.pem, admin_.key_pem));
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(pair->token, "");
  EXPECT_EQ(pair->client_certificate_pem, admin_.pem);
  EXPECT_EQ(pair->client_key_pem, admin_.key_pem);
}

TEST_F(DecodeExecCredentialTest, CR5_ExpiryIsATimeOfAnyZone) {
  const auto expiry = [&](const std::string& time) -> std::string {
    const auto decoded =
        Decode(Printed(R"({"token":"abc","expirationTimestamp":")" + time + "\"}"));
    if (!decoded) return decoded.error().message;
    return std::to_string((*decoded->expires_at - clock_.Wall()) / std::chrono::seconds(1));
  };
  EXPECT_EQ(expiry("2026-01-01T00:10:00Z"), "600");
  EXPECT_EQ(expiry("2026-01-01T00:10:00.5Z"), "600");
  EXPECT_EQ(expiry("2026-01-01T05:40:00+05:30"), "600");
  EXPECT_EQ(expiry("2025-12-31T16:10:00-08:00"), "600");
  for (const char* wrong : {"", "tomorrow", "2026-01-01T00:10:00", "2026-01-01T00:10:00+5:30",
                            "2026-01-01T00:10:00+24:00", "2026-01-01T00:10:00+-1:00"}) {
    EXPECT_EQ(expiry(wrong),
              "printed a status.expirationTimestamp that is no time such as 2026-01-02T15:04:05Z")
        << wrong;
  }
}

TEST_F(DecodeExecCredentialTest, CR5_CR7_WhatIsWrongIsNamedAndNothingOfItRepeated) {
  struct Row {
    std::string printed;
    std::string want;
  };
  const std::string good = Printed(R"({"token":"canary"})");
  const std::vector<Row> rows = {
      {"", "printed nothing; it must print an ExecCredential"},
      {" \n", "printed nothing; it must print an ExecCredential"},
      {"canary", "printed what is no JSON (JSON at offset 0: "},
      {good + good, "printed what is no JSON (JSON at offset "},
      {"Warning: canary\n" + good, "printed what is no JSON (JSON at offset 0: "},
      {std::string(1000, '['), "printed what is no JSON (JSON at offset "},
      {"[]", "printed JSON that is no ExecCredential"},
      {Replaced(good, "ExecCredential", "Secret"), "printed JSON that is no ExecCredential"},
      {Replaced(good, "/v1", "/v1beta1"),
       "printed an ExecCredential of client.authentication.k8s.io/v1beta1, not of "
       "client.authentication.k8s.io/v1 as exec.apiVersion says; write the plugin's there"},
      {Replaced(good, "io/v1", "io/canary"),
       "printed an ExecCredential of another apiVersion, not"},
      {Printed("null"), "printed an ExecCredential whose status has neither token nor"},
      {Printed(R"({"token":7})"), "printed an ExecCredential whose status has neither token nor"},
      {Printed(R"({"token":"canary\nX-Evil: 1"})"),
       "printed status.token that is wrong: the token has a character that no token has"},
      {Printed(R"({"token":" "})"), "printed status.token that is wrong: the token is empty"},
      {PrintedPair(admin_.pem, ""),
       "printed an ExecCredential whose status has clientCertificateData and no clientKeyData"},
      {PrintedPair("", admin_.key_pem),
       "printed an ExecCredential whose status has clientKeyData and no clientCertificateData"},
      {PrintedPair("canary", admin_.key_pem),
       "printed status.clientCertificateData that is wrong: no PEM certificate in it"},
      {PrintedPair(admin_.pem, "canary"), "printed status.clientKeyData that is wrong: no PEM"},
      {PrintedPair(admin_.pem, other_.key_pem),
       "printed status.clientKeyData that is wrong: the key is not that of the certificate"},
      {Printed(R"({"token":"canary","expirationTimestamp":"2025-12-31T23:59:00Z"})"),
       "printed what expired at 2025-12-31T23:59:00Z, and here it is 2026-01-01T00:00:00Z; see to"},
      {Printed(R"({"token":"canary","expirationTimestamp":1767225600})"),
       "printed a status.expirationTimestamp that is no time"},
  };
  for (const Row& row : rows) {
    const auto decoded = Decode(row.printed);
    ASSERT_FALSE(decoded) << row.printed;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(decoded.error().message.starts_with(row.want)) << decoded.error().message;
    EXPECT_EQ(decoded.error().message.find("canary"), std::string::npos) << decoded.error().message;
  }
}

// ---- Running it.

class RunExecPluginTest : public ::testing::Test {
 protected:
  RunExecPluginTest() {
    std::string name = ::testing::TempDir() + "/plugin_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    plugin_ = {.where = "/c: users[1] \"admin\": exec", .api_version = kV1, .info = "{}"};
  }
  ~RunExecPluginTest() override { std::filesystem::remove_all(folder_); }

  std::string Script(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    std::filesystem::permissions(folder_ + "/" + name, std::filesystem::perms::owner_all);
    return folder_ + "/" + name;
  }
  // A plugin whose token is the output of a command.
  void Prints(const std::string& command) {
    plugin_.command =
        Script("plugin",
               "#!/bin/sh\nprintf '{\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\","
               "\"status\":{\"token\":\"%s\"}}' " +
                   std::string(kV1) + " \"$(" + command + ")\"\n");
  }
  // The token, or why there is none.
  std::string Run() const {
    const auto credential = RunExecPlugin(plugin_, environment_, clock_, {});
    return credential ? credential->token : credential.error().message;
  }

  const base::ManualClock clock_;
  std::string folder_;
  ExecPlugin plugin_;
  std::vector<std::string> environment_ = {"PATH=/usr/bin:/bin"};
};

TEST_F(RunExecPluginTest, CR5_ArgumentsAndVariablesReachItAndTheServiceManagersDoNot) {
  Prints("echo $1,$2,$A,$B,$KUBERNETES_EXEC_INFO,$NOTIFY_SOCKET$WATCHDOG_USEC$WATCHDOG_PID");
  plugin_.arguments = {"x;y", "$A"};
  plugin_.variables = {{"B", "ours"}, {"KUBERNETES_EXEC_INFO", "forged"}};
  plugin_.info = "told";
  environment_ = {"PATH=/usr/bin:/bin",         "A=kept",         "B=replaced",
                  "NOTIFY_SOCKET=/run/n",       "WATCHDOG_PID=1", "WATCHDOG_USEC=2",
                  "KUBERNETES_EXEC_INFO=forged"};
  EXPECT_EQ(Run(), "x;y,$A,kept,ours,told,");
}

TEST_F(RunExecPluginTest, CR5_NameIsLookedForInWholePathsOnly) {
  Prints("echo found");
  plugin_.command = "plugin";
  environment_ = {"PATH=:.:" + folder_ + "/absent:" + folder_ + ":/usr/bin:/bin"};
  EXPECT_EQ(Run(), "found");
  std::filesystem::create_directory(folder_ + "/first");
  std::filesystem::create_directory(folder_ + "/first/plugin");  // Is no program.
  environment_ = {"PATH=" + folder_ + "/first:" + folder_ + ":/usr/bin:/bin"};
  EXPECT_EQ(Run(), "found");
}

TEST_F(RunExecPluginTest, CR5_WhyThereIsNoneIsSaidInOneLineWithTheFix) {
  const std::string here = plugin_.where;
  const std::string see_more = "; run it by hand to see more";
  plugin_.command = "no-such-plugin";
  EXPECT_EQ(Run(), here +
                       ".command: no-such-plugin is in no folder of PATH (/usr/bin:/bin); install "
                       "it, or write its whole path");
  plugin_.install_hint = "get it\nfrom \x1b[31mhere";
  EXPECT_EQ(Run(), here +
                       ".command: no-such-plugin is in no folder of PATH (/usr/bin:/bin); get it "
                       "from  [31mhere");
  plugin_.install_hint = "";

  plugin_.command = folder_ + "/absent";
  EXPECT_EQ(Run(), here + ".command: " + plugin_.command +
                       ": No such file or directory; install it, or correct the path");
  plugin_.command = Script("orphan", "#!/absent/python\n");
  EXPECT_EQ(Run(), here + ".command: " + plugin_.command +
                       ": No such file or directory; it is there, but not what its first line says "
                       "that it runs with");
  plugin_.command = Script("headless", "exit 0\n");
  EXPECT_EQ(Run(), here + ".command: " + plugin_.command +
                       ": Exec format error; a script begins with a line such as #!/bin/sh");
  std::filesystem::permissions(plugin_.command, std::filesystem::perms::owner_read);
  EXPECT_EQ(Run(), here + ".command: " + plugin_.command +
                       ": Permission denied; make it executable for this user");

  plugin_.command =
      Script("fails",
             "#!/bin/sh\necho canary\necho first >&2\nprintf 'log\\033[2J in\\n\\n' >&2\nexit 1\n");
  EXPECT_EQ(Run(),
            here + ": " + plugin_.command + ": ended with status 1, saying: log [2J in" + see_more);
  plugin_.command = Script("silent", "#!/bin/sh\nexit 2\n");
  EXPECT_EQ(Run(), here + ": " + plugin_.command +
                       ": ended with status 2, without a word on stderr" + see_more);
  plugin_.command = Script("killed", "#!/bin/sh\nkill -9 $$\n");
  EXPECT_EQ(Run(), here + ": " + plugin_.command +
                       ": was ended by signal 9, without a word on stderr" + see_more);
  plugin_.command = Script("empty", "#!/bin/sh\n");
  EXPECT_EQ(Run(),
            here + ": " + plugin_.command + ": printed nothing; it must print an ExecCredential");
  plugin_.command = Script("large", "#!/bin/sh\nexec yes canary\n");
  EXPECT_EQ(Run(), here + ": " + plugin_.command +
                       ": printed more than 1 MiB; an ExecCredential is all that it may print");
}

TEST_F(RunExecPluginTest, CR5_OneThatHangsIsKilledAndThatIsSaid) {
  plugin_.command = Script("hangs", "#!/bin/sh\nexec sleep 86400\n");
  const base::ManualClock clock({}, std::chrono::minutes(1));
  const auto hung = RunExecPlugin(plugin_, environment_, clock, {});
  ASSERT_FALSE(hung);
  EXPECT_EQ(
      hung.error().message,
      plugin_.where + ": " + plugin_.command +
          ": did not end within 60 s and was killed, without a word on stderr; log in by hand "
          "first: here it can ask nobody");
}

}  // namespace
}  // namespace kube
