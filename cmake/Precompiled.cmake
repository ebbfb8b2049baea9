# Library headers that nearly every source includes, parsed once: this saves a third of the build time. The project's
# own headers are excluded, so that each source compiles by its own includes where this is off; clang-tidy checks each
# without it (scripts/tidy.py).
include_guard()
set(KW_PRECOMPILED_HEADERS
  <algorithm> <array> <chrono> <cstdint> <deque> <expected> <filesystem> <fstream> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <boost/json.hpp>)
set(KW_PRECOMPILED_ASIO
  <boost/asio/any_io_executor.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/posix/stream_descriptor.hpp>
  <boost/asio/redirect_error.hpp> <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>)

# Other compilers require equal flags for all sources, macros included.
set(KW_PRECOMPILED OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  option(KW_PCH "Parse the headers of others once" ON)
  set(KW_PRECOMPILED ${KW_PCH})
endif()

# kw_precompiled(NAME HEADERS...): a set of headers for kw_use_precompiled.
function(kw_precompiled name)
  if(NOT KW_PRECOMPILED)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Carries precompiled headers.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE kw_fmt kw_json kw_boost)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

function(kw_use_precompiled target name)
  if(KW_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

if(KW_PRECOMPILED)
  # One set serves archives and programs only if both are compiled with equal flags.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  kw_precompiled(kw_precompiled_program ${KW_PRECOMPILED_HEADERS} ${KW_PRECOMPILED_ASIO})
  kw_precompiled(kw_precompiled_command_line ${KW_PRECOMPILED_HEADERS} ${KW_PRECOMPILED_ASIO} <CLI/CLI.hpp>)
  target_link_libraries(kw_precompiled_command_line PRIVATE CLI11::CLI11)
endif()
