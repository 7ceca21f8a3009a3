#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.

#include <filesystem>
#include <fstream>

#include "node/daemon/prepare.h"
#include "pkg/base/file.h"
#include "pkg/base/system_clock.h"

namespace imexd {
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
  std::string NotReady() const {
    const auto ready = Check(settings_, folder_, {"PATH=/usr/bin:/bin"}, clock_, {});
    return ready ? "" : ready.error().message;
  }

  base::SystemClock clock_;
  std::string folder_;
  Settings settings_;
};

TEST_F(PrepareTest, MakesTheConfigurationAndTheNodesFile) {
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(Read("imexd.cfg"), "SERVER_PORT=50000\nIMEX_NODE_CONFIG_FILE=" + folder_ +
                                   "/nodes.cfg\nIMEX_CMD_BIND_INTERFACE_IP=10.0.0.7\n");
  EXPECT_EQ(Read("nodes.cfg"), "compute-domain-daemon-0000\ncompute-domain-daemon-0001\n");
  EXPECT_EQ(Read("hosts"), "127.0.0.1 localhost\n");
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
          ".IMEXCmdBindInterfaceIP }} and {{ .IMEXDaemonNodesConfigPath }}; put the template of "
          "the kubelet plugin right");
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

TEST_F(PrepareTest, WithoutFabricThereIsNothingToCheck) {
  settings_.self.clique.clear();
  fs::remove(folder_ + "/nvidia-imex-ctl");
  EXPECT_EQ(NotReady(), "");
}

}  // namespace
}  // namespace imexd
