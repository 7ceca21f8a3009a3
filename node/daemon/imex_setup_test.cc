#include "node/daemon/imex_setup.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.

#include <filesystem>
#include <fstream>

#include "pkg/base/file.h"

namespace imex_daemon {
namespace {

namespace fs = std::filesystem;

class ImexSetupTest : public ::testing::Test {
 protected:
  ImexSetupTest() {
    std::string name = ::testing::TempDir() + "/daemon_imex_setup_XXXXXX";
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
  ~ImexSetupTest() override { fs::remove_all(folder_); }

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

  std::string folder_;
  Settings settings_;
};

TEST_F(ImexSetupTest, MakesTheConfigurationAndTheNodesFile) {
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(Read("imexd.cfg"), "SERVER_PORT=50000\nIMEX_NODE_CONFIG_FILE=" + folder_ +
                                   "/nodes.cfg\nIMEX_CMD_BIND_INTERFACE_IP=10.0.0.7\n");
  EXPECT_EQ(Read("nodes.cfg"), "compute-domain-daemon-0000\ncompute-domain-daemon-0001\n");
  EXPECT_EQ(Read("hosts"), "127.0.0.1 localhost\n");
}

TEST_F(ImexSetupTest, REV3_N7_GraceForLostPeersIsInTheConfiguration) {
  Put("imexd.cfg.tmpl", "IMEX_NODE_DISCONNECTED_GRACE_TIME=-1\nLOG_LEVEL=4\n");
  settings_.disconnected_grace = 300;
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(Read("imexd.cfg"), "IMEX_NODE_DISCONNECTED_GRACE_TIME=300\nLOG_LEVEL=4\n");
}

TEST_F(ImexSetupTest, REV3_N7_EncryptionIsInTheConfigurationWithItsKeys) {
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

TEST_F(ImexSetupTest, REV3_N7_EncryptionWithoutKeysIsRefused) {
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

TEST_F(ImexSetupTest, ImexThatIsMissingIsNamedWithWhereItComesFrom) {
  fs::remove(folder_ + "/nvidia-imex");
  EXPECT_EQ(Wrong(),
            "nvidia-imex is in no folder of PATH (" + folder_ +
                "); it comes with the node's driver: install the package nvidia-imex there, "
                "of the driver's version");
}

TEST_F(ImexSetupTest, ControlProgramThatIsMissingIsNamed) {
  fs::remove(folder_ + "/nvidia-imex-ctl");
  EXPECT_NE(Wrong().find("nvidia-imex-ctl is in no folder"), std::string::npos);
}

TEST_F(ImexSetupTest, TemplateThatDoesNotParseIsNamedWithItsLine) {
  Put("imexd.cfg.tmpl", "A=1\nB={{ .Other }}\n");
  EXPECT_EQ(
      Wrong(),
      folder_ +
          "/imexd.cfg.tmpl: line 2: \"{{ .Other }}\" is not understood; what is: {{ "
          ".IMEXCmdBindInterfaceIP }} and {{ .IMEXDaemonNodesConfigPath }}; fix the template of "
          "the kubelet plugin");
}

TEST_F(ImexSetupTest, TemplateThatIsMissingIsNamedWithWhoMountsIt) {
  fs::remove(folder_ + "/imexd.cfg.tmpl");
  EXPECT_EQ(Wrong(), "open " + folder_ +
                         "/imexd.cfg.tmpl: No such file or directory; the kubelet plugin mounts it "
                         "with this pod's claim: see the plugin's log");
}

TEST_F(ImexSetupTest, FolderThatCannotBeWrittenIsNamed) {
  fs::create_directories(folder_ + "/imexd.cfg.next");
  EXPECT_NE(Wrong().find("/imexd.cfg.next: Is a directory; make room"), std::string::npos)
      << Wrong();
}

TEST_F(ImexSetupTest, HostsFileThatCannotBeWrittenIsNamed) {
  settings_.hosts_file = folder_;
  EXPECT_NE(Wrong().find("open " + folder_ + ": Is a directory"), std::string::npos);
  EXPECT_NE(Wrong().find("IMEX finds its peers by it"), std::string::npos);
}

}  // namespace
}  // namespace imex_daemon
