option(KW_TESTS "Build the tests" ON)
option(KW_ASAN "Address and undefined-behaviour sanitisers everywhere" OFF)

# g++ 12 frees a temporary aggregate twice when it is passed to a coroutine, so it is refused.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} miscompiles coroutines: use clang >= 19 or g++ >= 13")
endif()

add_library(kw_warnings INTERFACE)
target_compile_options(kw_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)

if(KW_ASAN)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# The program runs on any x86-64 Linux with the same or a newer glibc and nothing else installed.
add_link_options($<$<LINK_LANGUAGE:CXX>:-static-libstdc++> -static-libgcc -Wl,--gc-sections)
# No path of the machine that built it stays in the program.
add_compile_options(-ffunction-sections -fdata-sections -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld)
endif()
