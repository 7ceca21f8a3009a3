# For arm64, on another machine: Debian's cross compiler, which has its own C and C++ libraries, and every other library
# in CDOM_SYSROOT, where scripts/image.sh has unpacked Debian's packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)

set(CDOM_SYSROOT "$ENV{CDOM_SYSROOT}")
if(NOT CDOM_SYSROOT)
  message(FATAL_ERROR "CDOM_SYSROOT is not set: build with scripts/image.sh arm64")
endif()
set(CMAKE_FIND_ROOT_PATH "${CDOM_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CDOM_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CDOM_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CDOM_SYSROOT}/usr/share/pkgconfig")

# Libraries of libraries, and no trace of where all this lay.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${CDOM_SYSROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CDOM_SYSROOT}/usr/include/aarch64-linux-gnu -ffile-prefix-map=${CDOM_SYSROOT}=")
set(CMAKE_SKIP_RPATH ON)
