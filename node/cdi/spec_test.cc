#include "node/cdi/spec.h"

#include <gtest/gtest.h>

namespace cdi {
namespace {

DeviceNode Channel(int number) {
  const std::string path = "/dev/nvidia-caps-imex-channels/channel" + std::to_string(number);
  return {.path = path, .host_path = path, .major = 235, .minor = number};
}

Spec OneChannel() {
  return {.kind = "k8s.compute-domain.nvidia.com/claim",
          .devices = {{.name = "73de0384-716f-480e-8caa-00bce7016114-channel-0",
                       .edits = {.nodes = {Channel(0)}}}}};
}

Spec OneMount() {
  return {
      .kind = "v/c",
      .devices = {
          {.name = "d",
           .edits = {.env = {"A=b"},
                     .mounts = {{.host_path = "/a", .container_path = "/b", .options = {"rw"}}}}}}};
}

Spec Everything() {
  Spec spec = OneChannel();
  spec.devices.push_back({.name = "a-daemon-0",
                          .edits = {.env = {"CLIQUE_ID=", "X=a: b # c", "Y=\"\\\n\xC3\xA9"},
                                    .nodes = {Channel(0), Channel(1)},
                                    .mounts = {{.host_path = "/var/lib/x y",
                                                .container_path = "/imexd",
                                                .options = {"rw", "nosuid", "nodev", "bind"}}}}});
  spec.edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  spec.edits.hooks = {{.name = "createContainer",
                       .path = "/usr/bin/nvidia-cdi-hook",
                       .args = {"nvidia-cdi-hook", "update-ldcache", "--folder", "/usr/lib"},
                       .env = {"NVIDIA_CTK_DEBUG=false"}}};
  return spec;
}

TEST(CdiSpec, Channel_IsWrittenAsJsonOnOneLine) {
  EXPECT_EQ(
      Render(OneChannel()),
      R"({"cdiVersion":"0.5.0","kind":"k8s.compute-domain.nvidia.com/claim","devices":[)"
      R"({"name":"73de0384-716f-480e-8caa-00bce7016114-channel-0","containerEdits":{"deviceNodes":[)"
      R"({"path":"/dev/nvidia-caps-imex-channels/channel0","hostPath":"/dev/nvidia-caps-imex-channels/channel0",)"
      R"("type":"c","major":235,"fileMode":438}]}}]})"
      "\n");
}

TEST(CdiSpec, Daemon_IsWrittenInTheReferencesOrder) {
  EXPECT_EQ(
      Render(OneMount()),
      R"({"cdiVersion":"0.5.0","kind":"v/c","devices":[{"name":"d","containerEdits":{)"
      R"("env":["A=b"],"mounts":[{"hostPath":"/a","containerPath":"/b","options":["rw"]}]}}]})"
      "\n");
}

TEST(CdiSpec, ReferenceYaml_IsRead) {
  EXPECT_EQ(Parse(R"(---
cdiVersion: 0.5.0
kind: k8s.compute-domain.nvidia.com/claim
devices:
    - name: 73de0384-716f-480e-8caa-00bce7016114-channel-0
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia-caps-imex-channels/channel0
              hostPath: /dev/nvidia-caps-imex-channels/channel0
              type: c
              major: 235
              fileMode: 438
)",
                  "f"),
            OneChannel());
  EXPECT_EQ(Parse(R"(---
cdiVersion: 0.5.0
kind: v/c
devices:
    - name: d
      containerEdits:
        env:
            - A=b
        mounts:
            - hostPath: /a
              containerPath: /b
              options:
                - rw
)",
                  "f"),
            OneMount());
}

TEST(CdiSpec, WhatWasWrittenIsReadAgain) {
  for (const Spec& spec : {OneChannel(), Everything()}) {
    const auto read = Parse(Render(spec), "f");
    ASSERT_TRUE(read) << read.error().message << "\n" << Render(spec);
    EXPECT_EQ(*read, spec) << Render(spec);
  }
}

TEST(CdiSpec, AllChannelsOfANodeAreReadAgain) {
  Spec spec = OneChannel();
  for (int number = 1; number < 2048; ++number) {
    spec.devices[0].edits.nodes.push_back(Channel(number));
  }
  EXPECT_EQ(Parse(Render(spec), "f"), spec);
}

TEST(CdiSpec, WhatASpecCannotHoldIsRefusedByItsPlace) {
  const auto why = [](const std::string& text) { return Parse(text, "f").error().message; };
  EXPECT_EQ(why("kind: a\nmore: b\n"), "f.more: unknown");
  EXPECT_EQ(why("devices: []\n"), "f.kind: missing");
  EXPECT_EQ(why("kind: [a]\n"), "f.kind: not a text");
  EXPECT_EQ(why("kind: a\ndevices: b\n"), "f.devices: not a list");
  EXPECT_EQ(why("kind: a\ndevices: [b]\n"), "f.devices: not a map");
  EXPECT_EQ(why("kind: a\ndevices: [{}]\n"), "f.devices.name: missing");
  EXPECT_EQ(why("kind: a\ncontainerEdits: {deviceNodes: [{path: b}]}\n"),
            "f.containerEdits.deviceNodes.type: not that of a character device");
  EXPECT_EQ(why("kind: a\ncontainerEdits: {deviceNodes: [{type: c, major: x}]}\n"),
            "f.containerEdits.deviceNodes.major: not a number");
  EXPECT_EQ(why("kind: a\ncontainerEdits: {env: {}}\n"), "f.containerEdits.env: not a list");
  EXPECT_EQ(why("kind: a\ncontainerEdits: {env: [[]]}\n"),
            "f.containerEdits.env: not a list of texts");
}

TEST(CdiSpec, WhatIsNoMapOrNoYamlIsRefused) {
  for (const char* text : {"", "- a", "a", "{", "? [a]\n: b\n", "kind: a\n---\nkind: b\n"}) {
    EXPECT_FALSE(Parse(text, "f")) << text;
  }
}

TEST(CdiSpec, AHalfOfAFileIsNoSpecOfTheSameDevices) {
  const std::string text = Render(OneChannel());
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_NE(Parse(text.substr(0, size), "f"), OneChannel()) << size;
  }
}

}  // namespace
}  // namespace cdi
