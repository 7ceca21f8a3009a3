#include "pkg/http/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

namespace http {
namespace {

using base::ErrorCode;
using base::Result;

TEST(Listener, PortZeroPicksOneAndSaysWhich) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", ":0"}) {
    const Result<Listener> listener = Listener::On(address);
    ASSERT_TRUE(listener) << address << ": " << listener.error().message;
    EXPECT_GT(listener->port(), 0);
    EXPECT_NE(::fcntl(listener->fd(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(Listener, PortInUseIsAnErrorThatNamesTheAddressAndTheCause) {
  const Result<Listener> first = Listener::On("127.0.0.1:0");
  ASSERT_TRUE(first) << first.error().message;
  const std::string address = "127.0.0.1:" + std::to_string(first->port());
  const Result<Listener> second = Listener::On(address);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.error().message, "listen on " + address + ": Address already in use");
}

TEST(Listener, PortIsFreeAgainOnceTheListenerIsGone) {
  int port = 0;
  {
    const Result<Listener> first = Listener::On("127.0.0.1:0");
    ASSERT_TRUE(first) << first.error().message;
    port = first->port();
  }
  EXPECT_TRUE(Listener::On("127.0.0.1:" + std::to_string(port)));
}

TEST(Listener, WhatIsNoAddressIsInvalid) {
  for (const char* address : {"", "8080", "localhost", "localhost:", "localhost:http", ":-1",
                              ":65536", ":80 80", "127.0.0.1:1x"}) {
    const Result<Listener> listener = Listener::On(address);
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().code, ErrorCode::kInvalid) << address;
    EXPECT_FALSE(CheckAddress(address)) << address;
  }
  for (const char* address : {"127.0.0.1:0", "[::1]:8080", ":65535", "host.invalid:1"}) {
    EXPECT_TRUE(CheckAddress(address)) << address;
  }
  const Result<Listener> nowhere = Listener::On("host.invalid:0");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace http
