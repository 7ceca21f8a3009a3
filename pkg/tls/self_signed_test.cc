#include "pkg/tls/self_signed.h"

#include <gtest/gtest.h>

#include "pkg/tls/pem.h"

namespace tls {
namespace {

using base::ErrorCode;

TEST(MakeSelfSigned, REV3_X8_KeyIsThatOfTheCertificate_AndEachIsNew) {
  const auto one = MakeSelfSigned("cdom-controller");
  const auto other = MakeSelfSigned("cdom-controller");
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(CheckPair(one->certificate_pem, one->key_pem));
  EXPECT_NE(one->key_pem, other->key_pem);
  EXPECT_FALSE(CheckPair(one->certificate_pem, other->key_pem));
}

// What a certificate's extension would read as more than a name.
TEST(MakeSelfSigned, REV3_X8_NameThatIsNoHostIsRefused) {
  for (const char* name : {"", "a,b", "a,IP:10.0.0.1", "a\nb", "Upper", "*.example.org"}) {
    const auto made = MakeSelfSigned(name);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid) << name;
  }
  EXPECT_FALSE(MakeSelfSigned(std::string(64, 'a')));
  EXPECT_TRUE(MakeSelfSigned(std::string(63, 'a')));
}

}  // namespace
}  // namespace tls
