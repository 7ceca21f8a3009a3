// Goal: IMEX looks up every name of its nodes file without asking the cluster's DNS.
// Method: a process with /etc and loopback of its own, whose only DNS server is a socket of the
// test, looks the names up as the C library does. The test counts the packets that arrive.
//
// It needs namespaces, as root or with those of an unprivileged user, and fails where it gets none.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netdb.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "node/imex/hosts_file.h"
#include "node/imex/names.h"

namespace imex {
namespace {

constexpr int kNodes = 18;
const NodeNames kNames = {.prefix = PrefixOf("uid"), .count = kNodes};

// In the child process: ends it unless `done`.
void Need(bool done, const char* what) {
  if (done) return;
  std::perror(what);
  std::_Exit(2);
}

void Write(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  Need(file.good(), path);
}

void EnterNamespaces(const std::string& hosts) {
  const std::string user = "0 " + std::to_string(::geteuid()) + " 1\n";
  const std::string group = "0 " + std::to_string(::getegid()) + " 1\n";
  Need(::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0, "unshare");
  Write("/proc/self/uid_map", user);
  Write("/proc/self/setgroups", "deny");
  Write("/proc/self/gid_map", group);
  Need(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount /");
  Need(::mount("none", "/etc", "tmpfs", 0, nullptr) == 0, "mount /etc");
  Write("/etc/hosts", hosts);
  Write("/etc/nsswitch.conf", "hosts: files dns\n");  // As in the daemon's image.
  Write("/etc/resolv.conf",
        "nameserver 127.0.0.1\n"
        "search cdom-system.svc.cluster.local cluster.local\n"
        "options ndots:1 timeout:1 attempts:1\n");
  const int any = ::socket(AF_INET, SOCK_DGRAM, 0);
  Need(any >= 0, "socket");
  ifreq loopback = {.ifr_ifrn = {"lo"}, .ifr_ifru = {}};
  loopback.ifr_ifru.ifru_flags = IFF_UP | IFF_RUNNING;
  Need(::ioctl(any, SIOCSIFFLAGS, &loopback) == 0, "loopback");
  ::close(any);
}

int Listen() {
  const int server = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  Need(server >= 0, "socket");
  const sockaddr_in address = {.sin_family = AF_INET,
                               .sin_port = htons(53),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                               .sin_zero = {}};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as bind(2) has it.
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  Need(::bind(server, plain, sizeof(address)) == 0, "bind");
  return server;
}

bool Resolves(const std::string& name) {
  addrinfo* found = nullptr;
  const bool resolves = ::getaddrinfo(name.c_str(), nullptr, nullptr, &found) == 0;
  if (found != nullptr) ::freeaddrinfo(found);
  return resolves;
}

bool WasAsked(int server) {
  std::array<char, 512> packet = {};
  return ::recv(server, packet.data(), packet.size(), 0) > 0;
}

// In a child process: status 0 if all names of the nodes file resolve and none of them left.
void LookUpAll(const std::string& hosts) {
  EnterNamespaces(hosts);
  const int server = Listen();
  std::istringstream names(RenderNodes(kNames));
  for (std::string name; std::getline(names, name);) {
    const bool resolves = Resolves(name);
    if (resolves && !WasAsked(server)) continue;
    std::fprintf(stderr, "%s was asked of DNS\n", name.c_str());
    std::_Exit(1);
  }
  // Or the server hears nothing, whatever is asked.
  if (Resolves(DnsName(kNames.prefix, kNodes)) || !WasAsked(server)) std::_Exit(3);
  std::_Exit(0);
}

TEST(Lookups, REV3_N2_NamesOfTheNodesFileAreNotAskedOfDns) {
  const std::string hosts =
      WithHosts("127.0.0.1\tlocalhost\n",
                {{.index = 0, .ip = "10.0.0.7"}, {.index = 3, .ip = "fd00::9"}}, kNames);
  // A process of its own: the threads of a test program may not change their namespaces.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) LookUpAll(hosts);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0)
      << "1: a name was asked of DNS; 2: no namespaces for this user; 3: the server is deaf";
}

}  // namespace
}  // namespace imex
