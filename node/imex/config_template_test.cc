#include "node/imex/config_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace imex {
namespace {

const ConfigValues kValues = {.cmd_bind_ip = "10.0.0.7", .nodes_path = "/imexd/nodes.cfg"};

std::string Rendered(std::string_view text) {
  return RenderConfig(text, kValues).value_or("refused");
}

TEST(RenderConfig, PutsTheTwoValuesInTheirPlaces) {
  EXPECT_EQ(Rendered("LOG_LEVEL=4\n"
                     "IMEX_NODE_CONFIG_FILE={{ .IMEXDaemonNodesConfigPath }}\n"
                     "IMEX_CMD_BIND_INTERFACE_IP={{.IMEXCmdBindInterfaceIP}}\n"),
            "LOG_LEVEL=4\n"
            "IMEX_NODE_CONFIG_FILE=/imexd/nodes.cfg\n"
            "IMEX_CMD_BIND_INTERFACE_IP=10.0.0.7\n");
}

TEST(RenderConfig, LeavesATextWithoutActionsAsItIs) {
  for (const char* text : {"", "A=1", "A={\n}} B={ {\r\n"}) EXPECT_EQ(Rendered(text), text);
}

TEST(RenderConfig, DashesTakeTheWhiteSpaceBesideThem) {
  EXPECT_EQ(Rendered("A= \n {{- .IMEXCmdBindInterfaceIP -}} \n B"), "A=10.0.0.7B");
  EXPECT_EQ(Rendered("A {{- /* a\nremark */ -}} B"), "AB");
  EXPECT_EQ(Rendered("A {{/* a remark */}} B"), "A  B");
}

TEST(RenderConfig, ActionThatIsNotUnderstoodIsNamedWithItsLineAndWhatWouldBe) {
  EXPECT_EQ(RenderConfig("A=1\nB={{ .Port }}\n", kValues).error().message,
            "line 2: \"{{ .Port }}\" is not understood; what is: {{ .IMEXCmdBindInterfaceIP }} and "
            "{{ .IMEXDaemonNodesConfigPath }}");
  for (const char* text : {"{{}}", "{{ if .X }}", "{{-.IMEXCmdBindInterfaceIP}}", "{{/*/}}",
                           "{{ .IMEXCmdBindInterfaceIP.X }}"}) {
    EXPECT_EQ(Rendered(text), "refused") << text;
  }
}

TEST(RenderConfig, ActionWithoutAnEndIsNamedWithItsLine) {
  EXPECT_EQ(RenderConfig("A\n\n{{ .IMEXCmd\x1b", kValues).error().message,
            "line 3: \"{{ .IMEXCmd \" has no }} behind it");
}

TEST(WithKeys, REV3_N7_KeyGetsItsValueInItsLineOrAtTheEnd) {
  EXPECT_EQ(WithKeys("# GRACE=-1 is for ever\nGRACE=-1\nGRACES=1\n GRACE_2 = 3\nMODE",
                     {{"GRACE", "60"}, {"GRACE_2", "4"}, {"MODE", "SSL"}}),
            "# GRACE=-1 is for ever\nGRACE=60\nGRACES=1\nGRACE_2=4\nMODE\nMODE=SSL\n");
}

TEST(WithKeys, WithoutAKeyTheTextStays) {
  EXPECT_EQ(WithKeys("", {}), "");
  EXPECT_EQ(WithKeys("A=1\n\nB=2\n", {}), "A=1\n\nB=2\n");
}

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of each line but remarks, what is in front of its first "=".
std::vector<std::string> KeysOf(const std::string& text) {
  std::vector<std::string> keys;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with('#')) keys.push_back(line.substr(0, line.find('=')));
  }
  return keys;
}

// What IMEX takes for a key that is missing is not documented.
TEST(OurTemplate, REV3_N13_HasTheKeysOfTheReferences) {
  const std::vector<std::string> keys = KeysOf(TextOf(CDOM_NVIDIAS_IMEX_KEYS));
  EXPECT_EQ(keys.size(), 33U);
  EXPECT_EQ(KeysOf(TextOf(CDOM_IMEX_TEMPLATE)), keys);
}

TEST(OurTemplate, HasWhatTheDaemonReliesOn) {
  const std::string text = "\n" + Rendered(TextOf(CDOM_IMEX_TEMPLATE));
  for (const char* line :
       {"LOG_FILE_NAME=", "DAEMONIZE=0", "IMEX_NODE_CONFIG_FILE=/imexd/nodes.cfg",
        "IMEX_CMD_ENABLED=1", "IMEX_CMD_BIND_INTERFACE_IP=10.0.0.7", "IMEX_CMD_PORT=50005",
        "SERVER_PORT=50000",
        // And what NVIDIA's template says.
        "LOG_LEVEL=4", "STATS_FILE_NAME=/var/log/nvidia-imex-stats.log", "LOG_APPEND_TO_LOG=0",
        "LOG_FILE_MAX_SIZE=1024", "LOG_MAX_ROTATE_COUNT=10", "LOG_USE_SYSLOG=0",
        "IMEX_WAIT_FOR_QUORUM=RECOVERY", "IMEX_ENABLE_AUTH_ENCRYPTION=0",
        "IMEX_AUTH_ENCRYPTION_MODE=SSL_TLS", "IMEX_GSS_SERVICE_NAME=host",
        "IMEX_GSS_TIMEOUT_SEC=30", "IMEX_GSS_RETRY_INTERVAL_SEC=5",
        "IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC=-1", "IMEX_GSS_SHUTDOWN_ON_FAILURE=0",
        "IMEX_NODE_DISCONNECTED_GRACE_TIME=-1"}) {
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace imex
