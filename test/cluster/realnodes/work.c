// What the pods of tests run.
//
//   work                    says so, and runs until it is told to end
//   work listen PORT        answers each connection
//   work ask ADDRESS PORT   prints the answer; if there is none, why, and the exit status is 1
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static const char kAnswer[] = "this is a pod\n";

static void End(int signal) {
  (void)signal;
  _exit(0);
}

static int Fail(const char* what) {
  printf("%s: %s\n", what, strerror(errno));
  return 1;
}

static struct sockaddr_in Address(const char* address, const char* port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  inet_pton(AF_INET, address, &to.sin_addr);
  return to;
}

static int Listen(const char* port) {
  const struct sockaddr_in at = Address("0.0.0.0", port);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (const struct sockaddr*)&at, sizeof at) != 0) return Fail("bind");
  if (listen(listener, 8) != 0) return Fail("listen");
  for (;;) {
    const int peer = accept(listener, NULL, NULL);
    if (peer < 0) return Fail("accept");
    if (write(peer, kAnswer, sizeof kAnswer - 1) < 0) perror("write");
    close(peer);
  }
}

static int Ask(const char* address, const char* port) {
  const struct sockaddr_in to = Address(address, port);
  const struct timeval patience = {.tv_sec = 5};
  const int asker = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(asker, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // Of connect, too.
  setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(asker, (const struct sockaddr*)&to, sizeof to) != 0) return Fail("connect");
  char answer[256];
  const ssize_t size = read(asker, answer, sizeof answer);
  if (size < 0) return Fail("read");
  fwrite(answer, 1, (size_t)size, stdout);
  return 0;
}

int main(int argc, char** argv) {
  signal(SIGTERM, End);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 4 && strcmp(argv[1], "ask") == 0) return Ask(argv[2], argv[3]);
  puts("at work");
  if (argc == 3 && strcmp(argv[1], "listen") == 0) return Listen(argv[2]);
  for (;;) pause();
}
