#include "pkg/base/system_call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace base {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "The numbers of system calls are known for amd64 and arm64."
#endif
// On amd64, programs with 32-bit pointers use the numbers from here on.
constexpr std::uint32_t kOtherNumbers = 0x40000000;

constexpr std::uint32_t kRefused[] = {
    // Mounts.
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_fsopen,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fspick,
    __NR_move_mount,
    __NR_open_tree,
    __NR_mount_setattr,
    // Namespaces. A new user namespace would restore all capabilities, within it.
    __NR_unshare,
    __NR_setns,
    // Other processes.
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_pidfd_getfd,
    __NR_kcmp,
    // Parts of the kernel with many known faults.
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
    __NR_fanotify_init,
    __NR_add_key,
    __NR_request_key,
    __NR_keyctl,
    // The machine.
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
    __NR_kexec_file_load,
    __NR_reboot,
    __NR_swapon,
    __NR_swapoff,
    __NR_acct,
    __NR_quotactl,
    __NR_open_by_handle_at,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_adjtimex,
    __NR_clock_adjtime,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_syslog,
#if defined(__x86_64__)
    __NR_iopl,
    __NR_ioperm,
    __NR_modify_ldt,
#endif
};

sock_filter Load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

sock_filter Return(std::uint32_t what) { return BPF_STMT(BPF_RET | BPF_K, what); }

// Skips the next instruction unless `comparison` is true for the loaded word and `value`.
sock_filter Unless(int comparison, std::uint32_t value) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, 1);
}

std::vector<sock_filter> Program() {
  constexpr std::uint32_t kNotPermitted = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      Return(kNotPermitted),
      Load(offsetof(seccomp_data, nr)),
      Unless(BPF_JGE, kOtherNumbers),
      Return(kNotPermitted),
      // Its flags are in memory, which a filter cannot read.
      Unless(BPF_JEQ, __NR_clone3),
      Return(SECCOMP_RET_ERRNO | ENOSYS),
  };
  for (const std::uint32_t call : kRefused) {
    program.push_back(Unless(BPF_JEQ, call));
    program.push_back(Return(kNotPermitted));
  }
  // clone: both architectures have the flags in the first argument, with the low half first.
  constexpr std::uint32_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3));
  program.push_back(Load(offsetof(seccomp_data, args)));
  program.push_back(Unless(BPF_JSET, kNamespaces));
  program.push_back(Return(kNotPermitted));
  program.push_back(Return(SECCOMP_RET_ALLOW));
  return program;
}

}  // namespace

Result<void> FilterSystemCalls() {
  std::vector<sock_filter> program = Program();
  const sock_fprog filter = {.len = static_cast<unsigned short>(program.size()),
                             .filter = program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    return Invalid("prctl(PR_SET_SECCOMP): " + std::generic_category().message(errno));
  }
  return {};
}

}  // namespace base
