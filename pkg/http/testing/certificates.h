// Certificates for tests, made by OpenSSL at run time.
//
// They are valid from one day ago, for two days.
#pragma once

#include <memory>
#include <string>

namespace http::testing {

struct Certificate {
  std::string pem = {};
  std::string key_pem = {};
};

// A certificate authority for one test.
class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& name);
  ~CertificateAuthority();
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  const std::string& pem() const { return pem_; }
  // `alternative_names` are in OpenSSL's format: "DNS:a.example,IP:127.0.0.1".
  Certificate Issue(const std::string& name, const std::string& alternative_names) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string pem_;
};

}  // namespace http::testing
