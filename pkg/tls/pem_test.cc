#include "pkg/tls/pem.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pkg/http/testing/certificates.h"

namespace tls {
namespace {

using http::testing::Certificate;
using http::testing::CertificateAuthority;

TEST(DecodeBase64, WholeGroupsAreDecodedAndEverythingElseRefused) {
  struct Row {
    std::string text;
    std::string want;  // "!": refused.
  };
  const std::vector<Row> rows = {
      {"", ""},
      {"YQ==", "a"},
      {"YWI=", "ab"},
      {"YWJj", "abc"},
      {"YWJjZA==", "abcd"},
      {"YW\nJj\r\n", "abc"},
      {" YWJj ", "abc"},
      {"+/+/", "\xfb\xff\xbf"},
      {"Y", "!"},
      {"YQ", "!"},
      {"YQ=", "!"},
      {"YQ===", "!"},
      {"=YQ=", "!"},
      {"YQ==YQ==", "!"},
      {"YW!j", "!"},
      {"YW-_", "!"},
      {"====", "!"},
      {"Y===", "!"},
  };
  for (const Row& row : rows) {
    const base::Result<std::string> bytes = DecodeBase64(row.text);
    EXPECT_EQ(bytes ? *bytes : "!", row.want) << '"' << row.text << '"';
  }
}

TEST(EncodeBase64, DecodingGivesTheSameBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(*DecodeBase64(EncodeBase64(bytes)), bytes) << i;
    bytes += static_cast<char>(i);
  }
  EXPECT_EQ(EncodeBase64("ab"), "YWI=");
}

class Pem : public ::testing::Test {
 protected:
  static bool IsRefused(const base::Result<void>& result, const std::string& part) {
    return !result && result.error().code == base::ErrorCode::kInvalid &&
           result.error().message.find(part) != std::string::npos;
  }
  static std::string BrokenInTheMiddle(std::string pem) {
    pem[pem.size() / 2] = '*';
    return pem;
  }

  const CertificateAuthority ca_{"CA"};
  const Certificate admin_ = ca_.Issue("admin", "DNS:admin");
  const Certificate other_ = ca_.Issue("other", "DNS:other");
};

TEST_F(Pem, CertificatesAreReadToTheLastOne) {
  EXPECT_TRUE(CheckCertificates(ca_.pem()));
  EXPECT_TRUE(CheckCertificates("# comment\n" + ca_.pem() + "\n" + admin_.pem));
  EXPECT_TRUE(IsRefused(CheckCertificates(""), "no PEM certificate"));
  EXPECT_TRUE(IsRefused(CheckCertificates("text"), "no PEM certificate"));
  EXPECT_TRUE(IsRefused(CheckCertificates(admin_.key_pem), "no PEM certificate"));
  EXPECT_TRUE(IsRefused(CheckCertificates(ca_.pem() + BrokenInTheMiddle(admin_.pem)),
                        "certificate 2 cannot be read"));
}

TEST_F(Pem, KeyIsReadWithoutAPassphraseOnly) {
  EXPECT_TRUE(CheckKey(admin_.key_pem));
  EXPECT_TRUE(IsRefused(CheckKey(admin_.pem), "no PEM private key"));
  EXPECT_TRUE(IsRefused(CheckKey(BrokenInTheMiddle(admin_.key_pem)), "no PEM private key"));
  EXPECT_TRUE(IsRefused(CheckKey("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIH=\n"
                                 "-----END ENCRYPTED PRIVATE KEY-----\n"),
                        "passphrase"));
}

TEST_F(Pem, PairIsOneOnlyIfTheKeyIsTheFirstCertificates) {
  EXPECT_TRUE(CheckPair(admin_.pem, admin_.key_pem));
  EXPECT_TRUE(CheckPair(admin_.pem + ca_.pem(), admin_.key_pem));
  EXPECT_TRUE(IsRefused(CheckPair(admin_.pem, other_.key_pem), "not that of the certificate"));
  EXPECT_TRUE(
      IsRefused(CheckPair(other_.pem + admin_.pem, admin_.key_pem), "not that of the certificate"));
}

}  // namespace
}  // namespace tls
