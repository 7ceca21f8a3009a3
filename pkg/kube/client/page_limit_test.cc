#include "pkg/kube/client/page_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kube {
namespace {

struct Reading {
  std::size_t requests = 0;
  std::size_t transferred = 0;
  std::size_t largest = 0;
};

// Reads a collection as a server hands it out that cuts off what passes the bound.
Reading ReadAll(PageLimit& limit, const std::vector<std::size_t>& sizes) {
  Reading reading;
  for (std::size_t at = 0; at < sizes.size();) {
    ++reading.requests;
    const std::size_t end = std::min(at + static_cast<std::size_t>(limit.objects()), sizes.size());
    std::size_t bytes = 0;
    for (std::size_t i = at; i < end; ++i) bytes += sizes[i];
    reading.transferred += std::min(bytes, limit.bytes_max());
    if (bytes > limit.bytes_max()) {
      EXPECT_TRUE(limit.Shrink());
      continue;
    }
    reading.largest = std::max(reading.largest, bytes);
    limit.OnPage(bytes);
    at = end;
  }
  return reading;
}

std::vector<std::size_t> Objects(std::size_t count, std::size_t size) {
  return std::vector<std::size_t>(count, size);
}

TEST(PageLimit, PageOfManyObjectsHasRoomForFourMegabytesAndOneObjectForSixteen) {
  PageLimit limit(2);
  EXPECT_EQ(limit.bytes_max(), 4U << 20);
  EXPECT_TRUE(limit.Shrink());
  EXPECT_EQ(limit.objects(), 1);
  EXPECT_EQ(limit.bytes_max(), 16U << 20);
}

TEST(PageLimit, OneObjectIsTheLeast) {
  PageLimit limit(5);
  EXPECT_TRUE(limit.Shrink());
  EXPECT_FALSE(limit.Shrink());
  EXPECT_EQ(limit.objects(), 1);
}

TEST(PageLimit, PagesHaveHalfAMegabyte_WhateverTheSizeOfTheObjects) {
  for (const std::size_t size : {500U, 1500U, 10'000U, 100'000U}) {
    PageLimit limit(1000, 50);
    const Reading reading = ReadAll(limit, Objects(4000, size));
    EXPECT_LE(reading.largest, std::max<std::size_t>(50 * size, 512U << 10)) << size;
    EXPECT_LE(reading.requests, 4000 * size / (400U << 10) + 6) << size;
  }
}

TEST(PageLimit, SmallObjectsAreReadInFullPages) {
  PageLimit limit(400);
  EXPECT_EQ(ReadAll(limit, Objects(20'000, 1000)).requests, 50);
  EXPECT_EQ(limit.objects(), 400);
}

TEST(PageLimit, FirstPageIsNoLargerThanAnyPage) {
  EXPECT_EQ(PageLimit(2, 50).objects(), 2);
  EXPECT_EQ(PageLimit(500, 50).objects(), 50);
}

TEST(PageLimit, S3_LargeObjectsAreReadInSmallPagesWithLittleInVain) {
  for (const std::size_t size : {50'000U, 333'000U, 700'000U, 3'800'000U}) {
    PageLimit limit(500);
    const Reading reading = ReadAll(limit, Objects(120, size));
    EXPECT_LE(reading.requests, 125) << size;
    EXPECT_LE(reading.transferred, 120 * size + (20U << 20)) << size;
  }
}

TEST(PageLimit, S3_SmallObjectsBehindLargeOnesAreReadInLargePagesAgain) {
  std::vector<std::size_t> sizes = Objects(120, 333'000);
  const std::vector<std::size_t> small = Objects(20'000, 1500);
  sizes.insert(sizes.end(), small.begin(), small.end());
  PageLimit limit(500);
  EXPECT_LE(ReadAll(limit, sizes).requests, 220);
  EXPECT_GT(limit.objects(), 300);
}

TEST(PageLimit, S3_LargeObjectsHereAndThereCostLessThanTheirOwnSizeAgain) {
  std::vector<std::size_t> sizes;
  for (int burst = 0; burst < 20; ++burst) {
    const std::vector<std::size_t> large = Objects(15, 333'000);
    const std::vector<std::size_t> small = Objects(1000, 1500);
    sizes.insert(sizes.end(), large.begin(), large.end());
    sizes.insert(sizes.end(), small.begin(), small.end());
  }
  std::size_t all = 0;
  for (const std::size_t size : sizes) all += size;
  PageLimit limit(500);
  EXPECT_LE(ReadAll(limit, sizes).transferred, 4 * all);
}

}  // namespace
}  // namespace kube
