// The first process of every pod: it holds the pod's namespaces, and waits for orphaned processes. Linked statically, it is
// all that is in the image.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void End(int signal) {
  (void)signal;
  _exit(0);
}

int main(void) {
  signal(SIGINT, End);
  signal(SIGTERM, End);
  for (;;) {
    // Nobody waits for the children of a process that ignores SIGCHLD.
    signal(SIGCHLD, SIG_IGN);
    pause();
  }
}
