// Kills a program before one of its changes of files. It is preloaded, so the program needs no
// switch for that.
//
//   CRASH_IN    the folder of the changes that count
//   CRASH_AT    a file with a number N. Changes count from the time when it exists, and before
//   change N the process gets SIGKILL
//
// The line "crash: before CALL PATH" in standard error says which one it was. Calls of the C
// library count: those that open a file for writing, write, fsync, flock, rename, unlink, mkdir.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_int count;

// The number in the file. 0 as long as it does not exist.
static int At(void) {
  const char* path = getenv("CRASH_AT");
  char text[16] = "";
  const int file = path != NULL ? REAL(open)(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  if (read(file, text, sizeof text - 1) < 0) text[0] = '\0';
  close(file);
  return atoi(text);
}

static void Count(const char* call, const char* path) {
  const char* folder = getenv("CRASH_IN");
  if (folder == NULL || strncmp(path, folder, strlen(folder)) != 0) return;
  const int at = At();
  if (at == 0 || atomic_fetch_add(&count, 1) + 1 != at) return;
  char line[512];
  const int size =
      snprintf(line, sizeof line, "crash: before %s %s\n", call, path + strlen(folder));
  if (REAL(write)(STDERR_FILENO, line, (size_t)size) == size) kill(getpid(), SIGKILL);
  for (;;) pause();
}

static void CountOpen(const char* call, int fd) {
  char link[64], path[4096] = "";
  if (fd <= STDERR_FILENO) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) > 0) Count(call, path);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (flags & (O_CREAT | O_WRONLY | O_RDWR)) Count("open", path);
  return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  CountOpen("write", fd);
  return REAL(write)(fd, bytes, size);
}

int fsync(int fd) {
  CountOpen("fsync", fd);
  return REAL(fsync)(fd);
}

int flock(int fd, int operation) {
  CountOpen("flock", fd);
  return REAL(flock)(fd, operation);
}

int rename(const char* from, const char* to) {
  Count("rename", to);
  return REAL(rename)(from, to);
}

int unlink(const char* path) {
  Count("unlink", path);
  return REAL(unlink)(path);
}

int mkdir(const char* path, mode_t mode) {
  Count("mkdir", path);
  return REAL(mkdir)(path, mode);
}
