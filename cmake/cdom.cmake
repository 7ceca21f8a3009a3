# The flags that every target shares, and the one function that makes a target from a folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")  # No -DNDEBUG: checks stay on.
set(CDOM_SANITIZE "" CACHE STRING "Value of -fsanitize, such as address,undefined")

option(CDOM_COVERAGE "Count lines and branches, with clang" OFF)

find_package(Threads REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
include(GoogleTest)

add_library(cdom_flags INTERFACE)
target_include_directories(cdom_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_link_libraries(cdom_flags INTERFACE tl::expected Threads::Threads)
target_compile_options(
  cdom_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(cdom_flags INTERFACE -Wthread-safety -Wreserved-identifier)
endif()
if(CDOM_SANITIZE)
  target_compile_options(cdom_flags INTERFACE "-fsanitize=${CDOM_SANITIZE}"
                                              -fno-sanitize-recover=all)
  target_link_options(cdom_flags INTERFACE "-fsanitize=${CDOM_SANITIZE}")
endif()
if(CDOM_COVERAGE)
  target_compile_options(cdom_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping -O0)
  target_link_options(cdom_flags INTERFACE -fprofile-instr-generate)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # The hardening set of the OpenSSF's compiler guide, as far as g++ 12 knows it.
  target_compile_options(
    cdom_flags
    INTERFACE -Wformat=2 -Werror=format-security -Wtrampolines -Wbidi-chars=any -U_FORTIFY_SOURCE
              -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS -fstack-clash-protection
              -fstack-protector-strong -fPIE -fno-delete-null-pointer-checks -fno-strict-overflow
              -fno-strict-aliasing -ftrivial-auto-var-init=zero)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(cdom_flags INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    target_compile_options(cdom_flags INTERFACE -mbranch-protection=standard)
  endif()
  target_link_options(cdom_flags INTERFACE -pie -Wl,-z,nodlopen -Wl,-z,noexecstack -Wl,-z,relro
                      -Wl,-z,now)
endif()

# cdom_library(NAME plan SRCS plan.cc DEPS cdom::api TESTS plan_test.cc)
#
# Makes the static library cdom::plan from SRCS (an interface library without any), which links DEPS
# and nothing else, and one test program for each of TESTS, whose cases ctest runs one by one.
# TEST_DEPS is what only the tests link.
function(cdom_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;TESTS;TEST_DEPS" ${ARGN})
  set(target "cdom_${ARG_NAME}")
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_SRCS})
    target_link_libraries(${target} PUBLIC cdom_flags ${ARG_DEPS})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE cdom_flags ${ARG_DEPS})
  endif()
  add_library(cdom::${ARG_NAME} ALIAS ${target})
  foreach(source IN LISTS ARG_TESTS)
    get_filename_component(test "${source}" NAME_WE)
    cdom_test(NAME ${test} SRCS ${source} DEPS ${target} ${ARG_TEST_DEPS})
  endforeach()
endfunction()

# cdom_test(NAME plan_test SRCS plan_test.cc DEPS cdom::plan): a GoogleTest program.
function(cdom_test)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE cdom_flags ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  if(CDOM_SANITIZE)
    target_compile_options(${ARG_NAME} PRIVATE -O0) # Optimizing what is instrumented takes longest.
  endif()
  gtest_discover_tests(${ARG_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       TEST_PREFIX "${ARG_NAME}: ")
endfunction()

# cdom_program(NAME compute-domain-controller SRCS main.cc DEPS ...): goes to <build>/bin.
function(cdom_program)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE cdom_flags ${ARG_DEPS})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()
