#include "pkg/http/curl_outcome.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace http {
namespace {

using base::ErrorCode;

CurlFailure Failure(CURLcode code, bool is_write, bool sent) {
  return {.code = code,
          .is_write = is_write,
          .sent = sent,
          .host_and_port = "10.0.0.1:6443",
          .server_name = "kubernetes"};
}

TEST(CurlOutcome, RT2_WhatMayHaveReachedTheServerIsUnknownForAWriteAndRetriableForARead) {
  struct Row {
    CURLcode code;
    bool is_write;
    bool sent;
    ErrorCode want;
  };
  const std::vector<Row> rows = {
      {CURLE_COULDNT_CONNECT, true, false, ErrorCode::kUnavailable},
      {CURLE_COULDNT_RESOLVE_HOST, true, false, ErrorCode::kUnavailable},
      {CURLE_OPERATION_TIMEDOUT, true, false, ErrorCode::kUnavailable},
      {CURLE_PEER_FAILED_VERIFICATION, true, false, ErrorCode::kUnavailable},
      {CURLE_URL_MALFORMAT, true, false, ErrorCode::kInvalid},
      {CURLE_OPERATION_TIMEDOUT, true, true, ErrorCode::kUnknownOutcome},
      {CURLE_RECV_ERROR, true, true, ErrorCode::kUnknownOutcome},
      {CURLE_GOT_NOTHING, true, true, ErrorCode::kUnknownOutcome},
      {CURLE_ABORTED_BY_CALLBACK, true, true, ErrorCode::kUnknownOutcome},
      // The first sending used a kept connection; a second one could not even connect.
      {CURLE_COULDNT_CONNECT, true, true, ErrorCode::kUnknownOutcome},
      {CURLE_OPERATION_TIMEDOUT, false, true, ErrorCode::kDeadlineExceeded},
      {CURLE_OPERATION_TIMEDOUT, false, false, ErrorCode::kUnavailable},
      {CURLE_GOT_NOTHING, false, true, ErrorCode::kUnavailable},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ToError(Failure(row.code, row.is_write, row.sent)).code, row.want)
        << curl_easy_strerror(row.code) << (row.is_write ? ", write" : ", read")
        << (row.sent ? ", sent" : ", not sent");
  }
}

// What a write has done is in the rest of the body.
TEST(CurlOutcome, REV4_K7_BodyOverItsBoundIsTooLargeForAReadAndUnknownForAWrite) {
  for (const bool is_write : {false, true}) {
    CurlFailure failure = Failure(CURLE_WRITE_ERROR, is_write, true);
    failure.passed_its_bound = true;
    EXPECT_EQ(ToError(failure).code, is_write ? ErrorCode::kUnknownOutcome : ErrorCode::kTooLarge);
  }
}

TEST(CurlOutcome, FailureToConnectNamesTheServerAndTheSystemsReason) {
  CurlFailure failure = Failure(CURLE_COULDNT_CONNECT, false, false);
  failure.os_error = ECONNREFUSED;
  failure.detail = "Couldn't connect to server";
  EXPECT_EQ(ToError(failure).message, "connect to 10.0.0.1:6443: Connection refused");
}

TEST(CurlOutcome, FailureToVerifySaysWhatToCheck) {
  CurlFailure failure = Failure(CURLE_PEER_FAILED_VERIFICATION, false, false);
  failure.detail = "unable to get local issuer certificate";
  const std::string message = ToError(failure).message;
  for (const char* part : {"10.0.0.1:6443", "unable to get local issuer certificate", "CA given",
                           "names kubernetes", "tls-server-name", "expired"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace http
