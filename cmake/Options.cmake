option(KW_TESTS "Build the tests" ON)
option(KW_SANITIZE "Compile all sources for the address and undefined-behaviour sanitizers and for libFuzzer" OFF)

# g++ 12 frees a temporary aggregate twice when it is passed to a coroutine, so it is refused.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} miscompiles coroutines: use clang >= 19 or g++ >= 13")
endif()

add_library(kw_warnings INTERFACE)
# In a unity build, a local variable may have the name of another source's constant.
target_compile_options(kw_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)

if(KW_SANITIZE)
  # vptr checks need the type information of libraries that were compiled without the sanitizer. FlatBuffers does not
  # verify the alignment of a vector's elements, which x86-64 does not need. -O0 compiles in half the time of -O1, which
  # the tests, 1.4 times as long as with -O1, do not lose again.
  set(kw_sanitizers -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,alignment -fno-sanitize-recover=undefined)
  add_compile_options(${kw_sanitizers} -DNDEBUG -O0 -gline-tables-only -fno-omit-frame-pointer)
  add_link_options(${kw_sanitizers})
endif()

# The program runs on any x86-64 Linux with the same or a newer glibc, without other libraries.
add_link_options($<$<LINK_LANGUAGE:CXX>:-static-libstdc++> -static-libgcc -Wl,--gc-sections)
# The program contains no path of the build machine.
add_compile_options(-ffunction-sections -fdata-sections -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld)
endif()

# ccache keeps what it compiled, wherever it is installed. The sloppiness is what precompiled headers need; a source is
# known by its contents, not by its time.
find_program(KW_CCACHE ccache)
if(KW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${KW_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
