// What a precompiled header of CMake's is built beside, see cdom.cmake.
