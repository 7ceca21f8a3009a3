#include "node/daemon/prepare.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pkg/base/file.h"
#include "pkg/base/testing/manual_clock.h"

namespace imex_daemon {
namespace {

namespace fs = std::filesystem;

class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() {
    std::string name = ::testing::TempDir() + "/daemon_prepare_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    settings_.self = {.clique = "c.1", .ip = "10.0.0.7", .nodes_max = 2};
    settings_.folder = folder_;
    settings_.hosts_file = folder_ + "/hosts";
    Put("hosts", "127.0.0.1 localhost\n");
    Put("imexd.cfg.tmpl",
        "SERVER_PORT=50000\nIMEX_NODE_CONFIG_FILE={{ .IMEXDaemonNodesConfigPath }}\n"
        "IMEX_CMD_BIND_INTERFACE_IP={{ .IMEXCmdBindInterfaceIP }}\n");
    Script("nvidia-imex", "exit 0");
    Script("nvidia-imex-ctl", "echo READY");
  }
  ~PrepareTest() override { fs::remove_all(folder_); }

  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name) << content;
  }
  void Script(const std::string& name, const std::string& script) const {
    Put(name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(folder_ + "/" + name, fs::perms::owner_all);
  }
  std::string Read(const std::string& name) const {
    return base::ReadFile(folder_ + "/" + name, 1U << 20).value_or("cannot be read");
  }
  // What it says is wrong; empty: nothing.
  std::string Wrong() const {
    const auto prepared = Prepare(settings_, folder_);
    return prepared ? "" : prepared.error().message;
  }
  std::string NotReady() const { return NotReady(base::ManualClock()); }
  std::string NotReady(const base::Clock& clock) const {
    const auto ready = Check(settings_, folder_, {"PATH=/usr/bin:/bin"}, patience_, clock);
    return ready ? "" : ready.error().message;
  }

  std::string folder_;
  Settings settings_;
  std::chrono::milliseconds patience_{0};
};

TEST_F(PrepareTest, MakesTheConfigurationAndTheNodesFile) {
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(Read("imexd.cfg"), "SERVER_PORT=50000\nIMEX_NODE_CONFIG_FILE=" + folder_ +
                                   "/nodes.cfg\nIMEX_CMD_BIND_INTERFACE_IP=10.0.0.7\n");
  EXPECT_EQ(Read("nodes.cfg"), "compute-domain-daemon-0000\ncompute-domain-daemon-0001\n");
  EXPECT_EQ(Read("hosts"), "127.0.0.1 localhost\n");
}

TEST_F(PrepareTest, REV3_N7_GraceForLostPeersIsInTheConfiguration) {
  Put("imexd.cfg.tmpl", "IMEX_NODE_DISCONNECTED_GRACE_TIME=-1\nLOG_LEVEL=4\n");
  settings_.disconnected_grace = 300;
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(Read("imexd.cfg"), "IMEX_NODE_DISCONNECTED_GRACE_TIME=300\nLOG_LEVEL=4\n");
}

TEST_F(PrepareTest, REV3_N7_EncryptionIsInTheConfigurationWithItsKeys) {
  Put("imexd.cfg.tmpl", "IMEX_ENABLE_AUTH_ENCRYPTION=0\nIMEX_SERVER_KEY=\n");
  for (const char* file : {"tls.key", "tls.crt", "ca.crt"}) Put(file, "PEM");
  settings_.encrypts = true;
  settings_.keys_folder = folder_;
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(Read("imexd.cfg"), "IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_SERVER_KEY=" + folder_ +
                                   "/tls.key\nIMEX_AUTH_ENCRYPTION_MODE=SSL_TLS\n"
                                   "IMEX_AUTH_SOURCE=FILE\n"
                                   "IMEX_SECURITY_TARGET_OVERRIDE=compute-domain-daemon-0000\n"
                                   "IMEX_CLIENT_KEY=" +
                                   folder_ + "/tls.key\nIMEX_SERVER_CERT=" + folder_ +
                                   "/tls.crt\nIMEX_CLIENT_CERT=" + folder_ +
                                   "/tls.crt\nIMEX_SERVER_CERT_AUTH=" + folder_ +
                                   "/ca.crt\nIMEX_CLIENT_CERT_AUTH=" + folder_ + "/ca.crt\n");
}

TEST_F(PrepareTest, REV3_N7_EncryptionWithoutKeysIsRefused) {
  settings_.encrypts = true;
  settings_.keys_folder = folder_;
  Put("tls.key", "PEM");
  EXPECT_EQ(Wrong(),
            "IMEX must encrypt, and its keys are missing: open " + folder_ +
                "/tls.crt: No such file or directory; name a Secret with tls.key, tls.crt and "
                "ca.crt in the setting daemons.imex.authSecret, or switch "
                "daemons.imex.authEncryption off");
  EXPECT_EQ(Read("imexd.cfg"), "cannot be read");
}

TEST_F(PrepareTest, ImexThatIsMissingIsNamedWithWhereItComesFrom) {
  fs::remove(folder_ + "/nvidia-imex");
  EXPECT_EQ(Wrong(),
            "nvidia-imex is in no folder of PATH (" + folder_ +
                "); it comes with the node's driver: install the package nvidia-imex there, "
                "of the driver's version");
}

TEST_F(PrepareTest, ControlProgramThatIsMissingIsNamed) {
  fs::remove(folder_ + "/nvidia-imex-ctl");
  EXPECT_NE(Wrong().find("nvidia-imex-ctl is in no folder"), std::string::npos);
}

TEST_F(PrepareTest, TemplateThatDoesNotParseIsNamedWithItsLine) {
  Put("imexd.cfg.tmpl", "A=1\nB={{ .Other }}\n");
  EXPECT_EQ(
      Wrong(),
      folder_ +
          "/imexd.cfg.tmpl: line 2: \"{{ .Other }}\" is not understood; what is: {{ "
          ".IMEXCmdBindInterfaceIP }} and {{ .IMEXDaemonNodesConfigPath }}; fix the template of "
          "the kubelet plugin");
}

TEST_F(PrepareTest, TemplateThatIsMissingIsNamedWithWhoMountsIt) {
  fs::remove(folder_ + "/imexd.cfg.tmpl");
  EXPECT_EQ(Wrong(), "open " + folder_ +
                         "/imexd.cfg.tmpl: No such file or directory; the kubelet plugin mounts it "
                         "with this pod's claim: see the plugin's log");
}

TEST_F(PrepareTest, FolderThatCannotBeWrittenIsNamed) {
  fs::create_directories(folder_ + "/imexd.cfg.next");
  EXPECT_NE(Wrong().find("/imexd.cfg.next: Is a directory; make room"), std::string::npos)
      << Wrong();
}

TEST_F(PrepareTest, HostsFileThatCannotBeWrittenIsNamed) {
  settings_.hosts_file = folder_;
  EXPECT_NE(Wrong().find("open " + folder_ + ": Is a directory"), std::string::npos);
  EXPECT_NE(Wrong().find("IMEX finds its peers by it"), std::string::npos);
}

TEST_F(PrepareTest, CheckIsGoodWhenTheControlProgramSaysReady) { EXPECT_EQ(NotReady(), ""); }

TEST_F(PrepareTest, H10_CheckTakesNothingElseForReady) {
  for (const char* script : {"echo NOT_READY", "echo READY; echo READY", "printf READY", "exit 0",
                             "echo READY; exit 1", "echo READY; echo warning >&2"}) {
    Script("nvidia-imex-ctl", script);
    EXPECT_NE(NotReady(), "") << script;
  }
}

TEST_F(PrepareTest, CheckSaysInOneLineWhatTheControlProgramSaid) {
  Script("nvidia-imex-ctl", "echo WAITING_FOR_PEERS; echo '\033[31mred' >&2");
  EXPECT_EQ(NotReady(), "IMEX is not ready: WAITING_FOR_PEERS  [31mred ");
}

TEST_F(PrepareTest, CheckAsksForTheLocalStateByTheConfiguration) {
  Script("nvidia-imex-ctl", "[ \"$*\" = \"-c " + folder_ + "/imexd.cfg -q\" ] && echo READY");
  EXPECT_EQ(NotReady(), "");
}

// Each time that it is asked one line longer.
constexpr const char* kCounts = "echo >>\"$0.asked\"; n=$(wc -l <\"$0.asked\"); ";

TEST_F(PrepareTest, CheckThatMayWaitAsksUntilImexIsReady) {
  Script("nvidia-imex-ctl", std::string(kCounts) + "[ $n -ge 3 ] && echo READY");
  EXPECT_NE(NotReady(), "") << "without patience it asks once";
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n");
  patience_ = std::chrono::minutes(1);
  EXPECT_EQ(NotReady(), "");
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n\n\n");
}

TEST_F(PrepareTest, Check_ImexBecomesReady_NoticesWithin25Milliseconds) {
  Script("nvidia-imex-ctl", std::string(kCounts) + "[ $n -ge 2 ] && echo READY");
  const base::ManualClock clock;  // It stands still, so only the pause counts.
  patience_ = std::chrono::milliseconds(25);
  EXPECT_EQ(NotReady(clock), "");
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n\n");
}

TEST_F(PrepareTest, CheckWhosePatienceEndsSaysWhatWasSaidLast) {
  Script("nvidia-imex-ctl", std::string(kCounts) + "echo asked $n");
  patience_ = std::chrono::seconds(3);
  // A question takes a second, however long its script takes to start.
  const base::ManualClock clock([&] {
    return std::chrono::seconds(
        base::ReadFile(folder_ + "/nvidia-imex-ctl.asked", 1U << 10).value_or("").size());
  });
  EXPECT_EQ(NotReady(clock), "IMEX is not ready: asked 3 ");
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n\n\n");
}

TEST_F(PrepareTest, CheckIsPatientOnlyWhileTheDaemonIsYoung) {
  EXPECT_EQ(PatienceFor(std::chrono::seconds(29)), std::chrono::seconds(5));
  EXPECT_EQ(PatienceFor(std::chrono::seconds(30)), std::chrono::seconds(0));
}

TEST_F(PrepareTest, AgeOfAProcessIsReadAsTheKernelWritesIt) {
  const std::string rest = " S 0 1 1 0 -1 4194560 9 9 9 9 9 9 9 9 20 0 3 0 12345 99 9 9\n";
  EXPECT_EQ(AgeOf("1 (compute-domain-) 3)" + rest, "130.57 88.10\n", 100),
            std::chrono::milliseconds(7120));
  EXPECT_EQ(AgeOf("1 (daemon)" + rest, "100.00 88.10\n", 100), std::chrono::milliseconds(0));
  for (const std::string& stat : {std::string(), "1 (daemon" + rest, std::string("1 (d) S 0")}) {
    EXPECT_EQ(AgeOf(stat, "130.57 88.10\n", 100), std::nullopt) << stat;
  }
  EXPECT_EQ(AgeOf("1 (daemon)" + rest, "", 100), std::nullopt);
  EXPECT_EQ(AgeOf("1 (daemon)" + rest, "130.57", 0), std::nullopt);
  const std::string own = base::ReadFile("/proc/self/stat", 4096).value_or("");
  const std::string up = base::ReadFile("/proc/uptime", 4096).value_or("");
  const auto age = AgeOf(own, up, ::sysconf(_SC_CLK_TCK));
  ASSERT_TRUE(age) << own << up;
  EXPECT_LT(*age, std::chrono::minutes(30));
}

TEST_F(PrepareTest, WithoutFabricThereIsNothingToCheck) {
  settings_.self.clique.clear();
  fs::remove(folder_ + "/nvidia-imex-ctl");
  EXPECT_EQ(NotReady(), "");
}

}  // namespace
}  // namespace imex_daemon
