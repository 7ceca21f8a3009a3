#include "node/nvml/fabric.h"

#include <gtest/gtest.h>

namespace nvml {
namespace {

constexpr const char* kUuid = "00112233-4455-6677-8899-aabbccddeeff";

Fabric Joined(int gpu, std::uint32_t clique = 7) {
  Fabric fabric = {.gpu = gpu, .state = Fabric::State::kCompleted, .clique = clique};
  for (std::size_t i = 0; i < fabric.cluster.size(); ++i) {
    fabric.cluster[i] = static_cast<std::uint8_t>(i * 0x11);
  }
  return fabric;
}
base::Result<std::string> Strictly(const std::vector<Fabric>& gpus) {
  return CliqueOf(gpus, Strictness::kAllAttached);
}

TEST(Clique, IsNamedByTheClustersUuidAndItsNumber) {
  EXPECT_EQ(Strictly({Joined(0), Joined(1)}), std::string(kUuid) + ".7");
}

TEST(Clique, ANodeWithoutAFabricHasNone) {
  EXPECT_EQ(Strictly({}), "");
  EXPECT_EQ(Strictly({Fabric{.gpu = 0}}), "");
  EXPECT_EQ(Strictly({Fabric{.gpu = 0, .state = Fabric::State::kCompleted}}), "");
  EXPECT_EQ(Strictly({Fabric{.gpu = 0}, Joined(1)}), std::string(kUuid) + ".7");
}

TEST(Clique, AFabricThatStillFormsIsNotNone) {
  for (const auto state : {Fabric::State::kNotStarted, Fabric::State::kInProgress}) {
    Fabric forming = Joined(1);
    forming.state = state;
    const auto clique = Strictly({Joined(0), forming});
    ASSERT_FALSE(clique);
    EXPECT_EQ(clique.error().code, base::ErrorCode::kUnavailable);
    EXPECT_NE(clique.error().message.find("GPU 1 "), std::string::npos);
    EXPECT_EQ(CliqueOf({Joined(0), forming}, Strictness::kOnlyAttached), std::string(kUuid) + ".7");
  }
}

TEST(Clique, AGpuThatCouldNotJoinIsAnErrorWhichTellsWhich) {
  Fabric failed = Joined(3);
  failed.status = 15;
  const auto clique = Strictly({failed});
  ASSERT_FALSE(clique);
  EXPECT_EQ(clique.error().code, base::ErrorCode::kInvalid);
  EXPECT_NE(clique.error().message.find("GPU 3 could not join"), std::string::npos);
  EXPECT_EQ(CliqueOf({failed}, Strictness::kOnlyAttached), "");
}

TEST(Clique, GpusOfOneNodeAreInOne) {
  for (const auto strictness : {Strictness::kAllAttached, Strictness::kOnlyAttached}) {
    const auto clique = CliqueOf({Joined(0, 7), Joined(2, 8)}, strictness);
    ASSERT_FALSE(clique);
    EXPECT_NE(clique.error().message.find("GPU 2"), std::string::npos);
  }
}

TEST(DriverVersion, IsComparedByItsNumbers) {
  for (const char* known : {"570.158.01", "570.158.1", "570.172.08", "580.95.05", "1000.0"}) {
    EXPECT_TRUE(KnowsNames(known)) << known;
  }
  for (const char* old :
       {"", "x", "570", "570.158", "570.158.00", "570.86.15", "99.999.99", "-1"}) {
    EXPECT_FALSE(KnowsNames(old)) << old;
  }
}

TEST(HealthTrouble, REV3_EachConditionIsNamedWithItsGpu) {
  constexpr std::uint32_t kAllWell = 2U | 2U << 2U | 2U << 4U | 2U << 6U | 1U << 8U;
  const auto trouble = [](std::uint32_t health) {
    return HealthTrouble({{.gpu = 0, .health = kAllWell}, {.gpu = 3, .health = health}});
  };
  EXPECT_EQ(trouble(0), "");
  EXPECT_EQ(trouble(kAllWell), "");
  EXPECT_EQ(trouble(1U << 2U), "GPU 3: route recovery in progress");
  EXPECT_EQ(trouble(1U | 1U << 4U), "GPU 3: degraded bandwidth, route unhealthy");
  EXPECT_EQ(trouble(1U << 6U), "GPU 3: recovery from an access timeout");
  EXPECT_EQ(trouble(4U << 8U), "GPU 3: incorrect configuration");
  EXPECT_EQ(HealthTrouble({{.gpu = 1, .health = 1}, {.gpu = 2, .health = 1}}),
            "GPU 1: degraded bandwidth; GPU 2: degraded bandwidth");
}

TEST(CliqueOf, REV3_PartitionedGpuThatDidNotCompleteIsLeftOut) {
  const Fabric forming = {.gpu = 1, .state = Fabric::State::kInProgress};
  EXPECT_EQ(CliqueOf({forming}, Strictness::kCompletedOnes).value(), "");
  EXPECT_FALSE(CliqueOf({forming}, Strictness::kAllAttached));
  EXPECT_EQ(CliqueOf({Joined(0), forming}, Strictness::kCompletedOnes).value(),
            std::string(kUuid) + ".7");
  const Fabric failed = {.gpu = 1, .state = Fabric::State::kCompleted, .status = 7};
  EXPECT_FALSE(CliqueOf({failed}, Strictness::kCompletedOnes));
}

}  // namespace
}  // namespace nvml
