// In the place of a host's nvidia-imex-ctl, within its driver's root: says what /imex-state holds.
#include <fcntl.h>
#include <unistd.h>

int main(void) {
  char text[64];
  const int state = open("/imex-state", O_RDONLY);
  const ssize_t length = state < 0 ? -1 : read(state, text, sizeof(text));
  return length < 0 || write(STDOUT_FILENO, text, (size_t)length) != length;
}
