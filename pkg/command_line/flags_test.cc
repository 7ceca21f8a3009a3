#include "pkg/command_line/flags.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv.

#include <array>

#include "pkg/base/version.h"

namespace command_line {
namespace {

constexpr auto kStatuses = std::to_array<ExitStatus>({{0, "It went well"}, kDefect});

struct Program {
  CLI::App app{"Counts.", "counter"};
  int count = 0;
  int from = 0;
  int to = 0;
  int speed = 0;
  std::vector<const char*> required = {};
  CommonSettings settings = {};

  std::optional<Exit> Reads(const std::vector<std::string>& arguments) {
    SetUpApp(app, kStatuses);
    Add(app, "--count", "COMMAND_LINE_TEST_COUNT", count, "How many");
    Add(app, "--from", "COMMAND_LINE_TEST_FROM", from, "Where it begins");
    Add(app, "--to", "COMMAND_LINE_TEST_TO", to, "Where it ends");
    Add(app, "--speed", "COMMAND_LINE_TEST_SPEED", speed, "How fast")->group(kIgnored);
    for (const char* flag : required) app.get_option(flag)->required();
    app.add_subcommand("forwards", "Upwards")->fallthrough();
    app.add_subcommand("back", "Downwards")->fallthrough();
    AddKubeconfig(app, settings);
    AddLogging(app, settings);
    return Parse(app, arguments);
  }
};

struct Lines final : base::Logger {
  void Log(base::LogLevel /*level*/, std::string_view /*message*/,
           std::initializer_list<base::LogField> fields) override {
    for (const base::LogField& field : fields) said.push_back(field.value);
  }
  std::vector<std::string> said = {};
};

TEST(Flags, OfOneThatIsGivenTwiceTheLastCounts) {
  Program program;
  EXPECT_FALSE(program.Reads({"--count", "1", "--kubeconfig=a", "--count=2"}));
  EXPECT_EQ(program.count, 2);
  EXPECT_EQ(program.settings.kubeconfig, "a");
}

TEST(Flags, TheFlagComesBeforeItsVariable) {
  ::setenv("COMMAND_LINE_TEST_COUNT", "7", 1);
  Program with_variable;
  Program with_both;
  EXPECT_FALSE(with_variable.Reads({}));
  EXPECT_FALSE(with_both.Reads({"--count", "1"}));
  ::unsetenv("COMMAND_LINE_TEST_COUNT");
  EXPECT_EQ(with_variable.count, 7);
  EXPECT_EQ(with_both.count, 1);
}

TEST(Flags, HelpEndsWithWhatEachExitStatusMeans) {
  Program program;
  const auto exit = program.Reads({"--help"});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->status, 0);
  EXPECT_NE(exit->text.find(
                "Exit status:\n"
                "  0    It went well\n"
                "  134  A defect (SIGABRT); the last line names it\n"
                "A flag overrides its variable (Env). Defaults are in parentheses.\n"
                "Accepted and ignored, for NVIDIA's chart: --speed (COMMAND_LINE_TEST_SPEED), "
                "--vmodule (VMODULE), --log-flush-frequency (LOG_FLUSH_FREQUENCY).\n"),
            std::string::npos)
      << exit->text;
}

TEST(Flags, VersionNamesTheProgramAndTheCommit) {
  Program program;
  const auto exit = program.Reads({"--version"});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->status, 0);
  EXPECT_EQ(exit->text, "cdom counter " + std::string(base::Version()) + " (revision " +
                            std::string(base::Revision()) + ")\n");
}

TEST(Flags, WhatIsWrongIsNamedByItsFlagAndIsMisuse) {
  for (const char* wrong :
       {"--count=many", "--v=11", "--logging-format=xml", "--colour", "--vmodule=2", "--vmodule==2",
        "--vmodule=a", "--vmodule=a=", "--vmodule=a=x", "--vmodule=a=-1", "--vmodule=a=2,b",
        "--vmodule=a=99999999999", "--speed=fast", "--log-flush-frequency=5",
        "--log-flush-frequency=soon"}) {
    Program program;
    const auto exit = program.Reads({wrong});
    ASSERT_TRUE(exit) << wrong;
    EXPECT_EQ(exit->status, kMisused) << wrong;
    const std::string flag = std::string(wrong).substr(0, std::string(wrong).find('='));
    EXPECT_NE(exit->text.find(flag), std::string::npos) << exit->text;
  }
}

// The first line of what the program says.
std::string Refusal(Program&& program, const std::vector<std::string>& arguments) {
  const auto exit = program.Reads(arguments);
  if (!exit) return {};
  EXPECT_EQ(exit->status, kMisused);
  return exit->text.substr(0, exit->text.find('\n'));
}

TEST(Flags, UnknownFlagOrCommand_IsNamed_WithTheNearestOne) {
  EXPECT_EQ(Refusal({}, {"--cuont=3"}), "--cuont: unknown flag; did you mean --count?");
  EXPECT_EQ(Refusal({}, {"--cuont", "3", "forward"}),
            "--cuont: unknown flag; did you mean --count?");
  EXPECT_EQ(Refusal({}, {"--colourful"}), "--colourful: unknown flag");
  EXPECT_EQ(Refusal({}, {"forward"}), "forward: unknown command; did you mean forwards?");
  EXPECT_EQ(Refusal({}, {"forwards", "--cuont=3"}), "--cuont: unknown flag; did you mean --count?");
  EXPECT_EQ(Refusal({}, {"sideways"}), "sideways: unknown command");
}

TEST(Flags, UnknownWord_IsNamed_BeforeRequiredFlags) {
  EXPECT_EQ(Refusal({.required = {"--from"}}, {"forward"}),
            "forward: unknown command; did you mean forwards?");
}

TEST(Flags, MissingFlags_AreNamedTogether) {
  EXPECT_EQ(Refusal({.required = {"--from", "--to", "--count"}}, {"--to=3"}),
            "--count, --from: required");
}

TEST(Flags, MissingCommand_IsToldWithThoseThatExist) {
  Program program;
  program.app.require_subcommand(1);
  EXPECT_EQ(Refusal(std::move(program), {}), "A subcommand is required: forwards, back");
}

TEST(Flags, ThoseOfKlogWithoutAnEffectAreTakenByFlagAndVariableAndEachIsToldOnce) {
  Program none;
  EXPECT_FALSE(none.Reads({}));
  EXPECT_TRUE(none.settings.unused_flags.empty());
  ::setenv("LOG_FLUSH_FREQUENCY", "5s", 1);
  Program both;
  EXPECT_FALSE(both.Reads({"--vmodule=a=1", "--vmodule", "round*=2,dir/file=0,"}));
  ::unsetenv("LOG_FLUSH_FREQUENCY");
  EXPECT_EQ(both.settings.unused_flags,
            (std::vector<std::string>{"--vmodule", "--log-flush-frequency"}));
  Lines lines;
  SayUnused(both.settings.unused_flags, lines);
  EXPECT_EQ(lines.said, (std::vector<std::string>{"--vmodule", "--log-flush-frequency"}));
}

TEST(Flags, Summary_HasVerbosityAndWhatTheProgramAdds) {
  EXPECT_EQ(Summary({.verbosity = 6}, {{"nodeName", "a"}, {"additionalNamespaces", "[]"}}),
            "Verbosity: 6, nodeName: a, additionalNamespaces: []");
}

}  // namespace
}  // namespace command_line
