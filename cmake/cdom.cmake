# The flags that every target shares, and the one function that makes a target from a folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_DEV "-g1 -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")  # No -DNDEBUG: checks stay on.
set(CDOM_SANITIZE "" CACHE STRING "Value of -fsanitize, such as address,undefined")

option(CDOM_COVERAGE "Count lines and branches of the libraries that say COVERED, with clang" OFF)

option(CDOM_FUZZ "Instrument the product for libFuzzer, with clang, and build the fuzz targets" OFF)

# Reading headers is most of a build, so presets that a person seldom waits for set CMAKE_UNITY_BUILD: the sources of a target are
# compiled several at a time. `dev` does not, or each change would compile its neighbours; nor does what clang-tidy reads, which
# shows that each file includes what it needs.

find_package(Threads REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(CLI11 REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)

# What is compiled into the code beside what it says.
set(CDOM_INSTRUMENTS "")
if(CDOM_SANITIZE)
  list(APPEND CDOM_INSTRUMENTS "-fsanitize=${CDOM_SANITIZE}" -fno-sanitize-recover=all)
endif()

# What who uses a library of ours sees of it, here or installed: where headers lie, and what they need.
add_library(cdom_headers INTERFACE)
set_target_properties(cdom_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(cdom_headers INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                                                  "$<INSTALL_INTERFACE:include/cdom>")
target_compile_features(cdom_headers INTERFACE cxx_std_20)
target_link_libraries(cdom_headers INTERFACE tl::expected Threads::Threads)
install(TARGETS cdom_headers EXPORT cdom COMPONENT library)

# And how our own sources are compiled, which is nobody else's matter.
add_library(cdom_flags INTERFACE)
target_link_libraries(cdom_flags INTERFACE cdom_headers)
target_compile_options(
  cdom_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror
                       ${CDOM_INSTRUMENTS})
target_link_options(cdom_flags INTERFACE ${CDOM_INSTRUMENTS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(cdom_flags INTERFACE -Wthread-safety -Wreserved-identifier)
  target_link_options(cdom_flags INTERFACE -fuse-ld=lld)  # A third of the time, of some 60 tests in a build.
elseif(CMAKE_UNITY_BUILD)
  # It takes each source of several for a header, in which an anonymous namespace would be a mistake.
  target_compile_options(cdom_flags INTERFACE -Wno-subobject-linkage)
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
  # No build ID: it follows from debug information too, which is not the same everywhere and not in the image.
  target_link_options(cdom_flags INTERFACE -Wl,--build-id=none)
  # Files have the names that they have in the tree, wherever that lies; ccache names them from the build's folder. It
  # leaves these options out of what it knows an object by: by the macro it does not take one that was built without.
  cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_BINARY_DIR}" OUTPUT_VARIABLE up)
  target_compile_options(cdom_flags INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${up}/="
                                              -DCDOM_NAMES_FILES_BY_THE_TREE)
endif()

# Outside of `release` what runs often is optimized a little: the product, and the simulation. Tests and what only they use, such as
# simulated nodes, compile for longer than they run, and are not optimized at all.
if(CMAKE_BUILD_TYPE STREQUAL "Dev")
  set(CDOM_OPTIONS_product -O1)
  set(CDOM_OPTIONS_test -O0)
endif()
set(CDOM_OPTIONS_fuzzed ${CDOM_OPTIONS_product} -fsanitize=fuzzer-no-link)

# What nearly every file includes is precompiled, since reading headers is most of a build that hardly optimizes; `release` and what
# clang-tidy reads do without.
option(CDOM_PRECOMPILE "Precompile the headers that nearly every file includes; needs clang" OFF)
set(CDOM_HEADERS <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <functional> <map> <memory> <mutex>
    <optional> <ranges> <set> <sstream> <string> <string_view> <thread> <tl/expected.hpp> <utility> <variant> <vector>)

# cdom_use(TARGET test): compiles it with the options of that use, which is product, fuzzed or test.
function(cdom_use target use)
  target_compile_options(${target} PRIVATE ${CDOM_OPTIONS_${use}})
  if(NOT CDOM_PRECOMPILE)
    return()
  endif()
  set(precompiled cdom_precompiled_${use})
  if(NOT TARGET ${precompiled})
    add_library(${precompiled} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cc")
    # Without times, so that the compiler's cache knows it again.
    target_compile_options(${precompiled} PRIVATE ${CDOM_OPTIONS_${use}} "SHELL:-Xclang -fno-pch-timestamp")
    target_link_libraries(${precompiled} PRIVATE cdom_flags)
    target_precompile_headers(${precompiled} PRIVATE ${CDOM_HEADERS})
    if(use STREQUAL "test")
      target_link_libraries(${precompiled} PRIVATE GTest::gtest)
      target_precompile_headers(${precompiled} PRIVATE <gtest/gtest.h>)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# cdom_options(TARGET): compiles it as what lies in the current folder is compiled.
function(cdom_options target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  set(use product)
  if(NOT folder MATCHES "^test/")
    if(CDOM_FUZZ)
      set(use fuzzed)
    endif()
  elseif(NOT folder MATCHES "^test/simulation")
    set(use test)
  endif()
  cdom_use(${target} ${use})
endfunction()

# All tests; and what ThreadSanitizer is for, the tests of the libraries that say THREADS, which
# `ctest -L threads` runs.
add_custom_target(tests)
add_custom_target(threads_tests)

# For test/suite/one.py and scripts/coverage.sh: in a line of <build>/tests each, a source of tests and its program.
file(WRITE "${PROJECT_BINARY_DIR}/tests" "")

# cdom_library(NAME compute_domain_planner SRCS planner.cc DEPS cdom::compute_domain_status TESTS planner_test.cc)
#
# Makes the static library cdom::compute_domain_planner from SRCS (an interface library without any), which links DEPS
# and nothing else, and adds TESTS to the test program of the folder: `threads_tests` if it says THREADS, `tests` otherwise.
# REALTIME are further tests, in which real time passes: they are the folder's `realtime_tests`, and no other test may look
# at a real clock. TESTS_WITHOUT_TSAN are tests that ThreadSanitizer cannot run; each is a program of its own, as each sweep
# of TESTS is. TEST_DEPS is what only the tests link, TEST_DEFINITIONS what only they are told.
# THREADS: threads meet in it. COVERED: scripts/coverage.sh looks whether its tests take every line and branch. PURE: it
# imports no thread, clock, socket, file or getenv, which test/lint checks; so does all that lies in a folder model, rules or
# status. ALONE: its sources have names for themselves that others of them have, too.
# Those of pkg are installed.
function(cdom_library)
  cmake_parse_arguments(ARG "THREADS;COVERED;ALONE;PURE" "NAME"
                        "SRCS;DEPS;TESTS;REALTIME;TESTS_WITHOUT_TSAN;TEST_DEPS;TEST_DEFINITIONS;TEST_NEEDS" ${ARGN})
  set(target "cdom_${ARG_NAME}")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  if(ARG_SRCS AND (ARG_PURE OR folder MATCHES "/(model|rules|status)(/|$)"))
    set_property(GLOBAL APPEND PROPERTY CDOM_PURE ${target})
    list(TRANSFORM ARG_SRCS PREPEND "${folder}/" OUTPUT_VARIABLE sources)
    set_property(GLOBAL APPEND PROPERTY CDOM_PURE_SOURCES ${sources})
  endif()
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_SRCS})
    if(ARG_ALONE)
      set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    endif()
    target_link_libraries(${target} PUBLIC cdom_headers ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:cdom_flags>)
    cdom_options(${target})
    if(ARG_COVERED AND CDOM_COVERAGE)
      # By these names, since ccache takes -fprofile-instr-generate as bound to the folder of the build. An object serves
      # other checkouts, so it names its sources from the folder of the build, and scripts/coverage.sh says which that is.
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fprofile-instrument=clang" "SHELL:-Xclang -fcoverage-mapping"
        -fcoverage-compilation-dir=.)
      target_link_options(${target} PUBLIC -fprofile-instr-generate)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE cdom_headers ${ARG_DEPS})
  endif()
  add_library(cdom::${ARG_NAME} ALIAS ${target})
  if(folder MATCHES "^pkg/" AND NOT folder MATCHES "/testing$")
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME})
    install(TARGETS ${target} EXPORT cdom ARCHIVE DESTINATION lib/cdom COMPONENT library)
  endif()
  set(label simple)
  set(program tests)
  if(ARG_THREADS)
    set(label threads)
    set(program threads_tests)
  endif()
  set(common DEPS ${target} ${ARG_TEST_DEPS} DEFINITIONS ${ARG_TEST_DEFINITIONS} NEEDS ${ARG_TEST_NEEDS})
  set(alone ${ARG_TESTS})
  list(FILTER alone INCLUDE REGEX "sweep_test\\.cc$")
  list(REMOVE_ITEM ARG_TESTS ${alone})
  if(NOT CDOM_SANITIZE STREQUAL "thread")
    list(APPEND alone ${ARG_TESTS_WITHOUT_TSAN})
  endif()
  foreach(source IN LISTS alone)
    cmake_path(GET source STEM name)
    cdom_test(NAME ${name} SRCS ${source} ${common} LABELS ${label})
  endforeach()
  if(ARG_TESTS)
    cdom_test(NAME ${program} SRCS ${ARG_TESTS} ${common} LABELS ${label})
  endif()
  if(ARG_REALTIME)
    cdom_test(NAME realtime_tests SRCS ${ARG_REALTIME} ${common} LABELS realtime ${label})
  endif()
endfunction()

# cdom_test(NAME tests SRCS planner_test.cc DEPS cdom::compute_domain_planner LABELS simple): adds to a GoogleTest program, which
# its path names: of folder controller/compute_domain the target is controller_compute_domain_tests, and ctest says
# "controller/compute_domain/tests: Suite.Name". The folder is CDOM_TESTS_FOLDER, or else the current one: folders that have few tests
# share the program of a folder above them. ctest runs its cases one by one, and under a sanitizer all in one go, since
# processes take longer to start there; cases of sweeps take minutes, so they are always run one by one. Programs of other tests end
# after two minutes of processor time, see test/suite/limited.sh, or 20 minutes. NEEDS: targets that the program loads.
function(cdom_test)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;DEFINITIONS;NEEDS;LABELS" ${ARGN})
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  if(CDOM_TESTS_FOLDER)
    set(folder "${CDOM_TESTS_FOLDER}")
  endif()
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(path "${folder}/${ARG_NAME}")
  string(REPLACE "/" "_" target "${path}")
  if(NOT TARGET ${target})
    cdom_test_program()
  endif()
  list(TRANSFORM ARG_SRCS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(${target} PRIVATE ${ARG_SRCS})
  target_compile_definitions(${target} PRIVATE ${ARG_DEFINITIONS})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS})
  if(ARG_NEEDS)
    add_dependencies(${target} ${ARG_NEEDS})
  endif()
  foreach(source IN LISTS ARG_SRCS)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    file(APPEND "${PROJECT_BINARY_DIR}/tests" "${source} ${path}\n")
  endforeach()
endfunction()

# Of cdom_test: makes `target`, without sources.
macro(cdom_test_program)
  add_executable(${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF OUTPUT_NAME "${ARG_NAME}" RUNTIME_OUTPUT_DIRECTORY
                                             "${PROJECT_BINARY_DIR}/${folder}")
  target_link_libraries(${target} PRIVATE cdom_flags GTest::gtest GTest::gtest_main)
  cdom_use(${target} test)
  add_dependencies(tests ${target})
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threads_tests ${target})
  endif()
  set(properties "")
  if(NOT path MATCHES "sweep_test$")
    # What CTest calls an emulator starts the program.
    set_target_properties(${target} PROPERTIES CROSSCOMPILING_EMULATOR "${PROJECT_SOURCE_DIR}/test/suite/limited.sh")
    set(properties TIMEOUT 1200)
  endif()
  if(CDOM_SANITIZE AND NOT path MATCHES "sweep_test$")
    add_test(NAME "${path}: all" COMMAND ${target})
    set_tests_properties("${path}: all" PROPERTIES LABELS "${ARG_LABELS}" ${properties})
  else()
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         TEST_PREFIX "${path}: " PROPERTIES ${properties})
    # It takes no property that is a list.
    set(labels "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
    file(WRITE "${labels}" "set_tests_properties(\${${target}_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\")\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels}")
  endif()
endmacro()

# cdom_program(NAME compute-domain-controller SRCS main.cc DEPS ...): goes to <build>/bin.
function(cdom_program)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE cdom_flags ${ARG_DEPS})
  cdom_options(${ARG_NAME})
  set_target_properties(${ARG_NAME} PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()
