#include "node/gpu/inventory/pci.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gpu {
namespace {

namespace fs = std::filesystem;

class PciPlaceTest : public testing::Test {
 public:
  PciPlaceTest() {
    std::string folder = (fs::temp_directory_path() / "pci_test.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) sysfs_ = folder;
    fs::create_directories(sysfs_ + "/bus/pci/devices");
  }
  ~PciPlaceTest() override {
    std::error_code ignored;
    fs::remove_all(sysfs_, ignored);
  }

 protected:
  // Adds a device in the folder `parent` of sysfs, with a link as the kernel makes it.
  void Add(const std::string& parent, const std::string& address, const std::string& numa) const {
    const std::string path = parent + "/" + address;
    fs::create_directories(sysfs_ + path);
    if (!numa.empty()) std::ofstream(sysfs_ + path + "/numa_node") << numa;
    fs::create_symlink("../../.." + path, sysfs_ + "/bus/pci/devices/" + address);
  }

  std::string sysfs_ = {};
};

TEST_F(PciPlaceTest, Device_HasItsRootComplexAndNode) {
  Add("/devices/pci0000:64/0000:64:01.0", "0000:65:00.0", "1\n");
  EXPECT_EQ(PlaceOf(sysfs_, "0000:65:00.0"), (PciPlace{.root = "pci0000:64", .numa_node = 1}));
  Add("/devices/pci0009:00/0009:00:00.0", "0009:01:00.0", "");
  EXPECT_EQ(PlaceOf(sysfs_, "0009:01:00.0"), (PciPlace{.root = "pci0009:00"}));
}

TEST_F(PciPlaceTest, MachineWithoutNuma_HasNoNode) {
  Add("/devices/pci0000:00", "0000:65:00.0", "-1\n");
  EXPECT_EQ(PlaceOf(sysfs_, "0000:65:00.0"), (PciPlace{.root = "pci0000:00"}));
  Add("/devices/pci0000:00", "0000:66:00.0", "0x1\n");
  EXPECT_EQ(PlaceOf(sysfs_, "0000:66:00.0").numa_node, std::nullopt);
  Add("/devices/pci0000:00", "0000:67:00.0", std::string(100, '1'));
  EXPECT_EQ(PlaceOf(sysfs_, "0000:67:00.0").numa_node, std::nullopt);
}

TEST_F(PciPlaceTest, DeviceOnAnotherBus_HasNoRoot) {
  Add("/devices/platform/soc/pci0000:00", "0000:65:00.0", "0\n");
  EXPECT_EQ(PlaceOf(sysfs_, "0000:65:00.0"), (PciPlace{.numa_node = 0}));
}

TEST_F(PciPlaceTest, UnknownDevice_HasNoPlace) {
  EXPECT_EQ(PlaceOf(sysfs_, "0000:65:00.0"), PciPlace());
  EXPECT_EQ(PlaceOf(sysfs_ + "/none", "0000:65:00.0"), PciPlace());
  fs::create_symlink("../../../devices/none", sysfs_ + "/bus/pci/devices/0000:66:00.0");
  EXPECT_EQ(PlaceOf(sysfs_, "0000:66:00.0"), PciPlace());
  Add("/devices/pci0000:64", "0000:65:00.0", "0\n");
  fs::create_symlink("0000:65:00.0", sysfs_ + "/bus/pci/devices/0000:67:00.0");
  EXPECT_EQ(PlaceOf(sysfs_, "0000:67:00.0"), PciPlace()) << "the link leads to another device";
}

TEST_F(PciPlaceTest, TextThatIsNoAddress_ReachesNoFile) {
  Add("/devices/pci0000:64", "0000:65:00.0", "0\n");
  for (const char* text : {"", ".", "..", "../devices", "0000:65:00.0/", "00000000:65:00.0", "x"}) {
    EXPECT_EQ(PlaceOf(sysfs_, text), PciPlace()) << text;
  }
}

}  // namespace
}  // namespace gpu
