find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_program(KW_FLATC flatc REQUIRED)

# Static archives, so that the program contains its dependencies.
set(KW_STATIC_LIBS boost_json boost_container crypto ssl flatbuffers SQLiteCpp sqlite3 cmark gumbo archive nettle lzma zstd lz4 bz2 z
  seccomp)
foreach(lib IN LISTS KW_STATIC_LIBS)
  find_library(KW_LIB_${lib} NAMES lib${lib}.a REQUIRED)
  add_library(kw_${lib} INTERFACE)
  target_link_libraries(kw_${lib} INTERFACE ${KW_LIB_${lib}})
endforeach()
target_link_libraries(kw_boost_json INTERFACE kw_boost_container)
target_link_libraries(kw_crypto INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(kw_ssl INTERFACE kw_crypto)
target_link_libraries(kw_sqlite3 INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_libraries(kw_SQLiteCpp INTERFACE kw_sqlite3)
# Of libarchive only the readers and the ZIP writer are linked, so that what others need (libacl, libxml2) is not.
target_link_libraries(kw_archive INTERFACE kw_arc4random kw_nettle kw_lzma kw_zstd kw_lz4 kw_bz2 kw_z Threads::Threads)
add_library(kw_arc4random STATIC ${CMAKE_CURRENT_LIST_DIR}/arc4random.c)

add_library(kw_json INTERFACE)
target_link_libraries(kw_json INTERFACE kw_boost_json)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(kw_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
  get_target_property(KW_FMT_INCLUDE fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(kw_fmt SYSTEM PUBLIC ${KW_FMT_INCLUDE})
else()
  add_library(kw_fmt INTERFACE)
  target_link_libraries(kw_fmt INTERFACE fmt::fmt-header-only)
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:FMT_HEADER_ONLY=1>)  # also where headers are precompiled
endif()

# Warnings do not apply to headers of libraries.
add_library(kw_boost INTERFACE)
target_include_directories(kw_boost SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
# Set for all targets: precompiled headers are compiled once, with one set of macros.
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_REGEX)

find_path(KW_TOML_DIR toml++/toml.h REQUIRED)
add_library(kw_toml INTERFACE)
target_include_directories(kw_toml SYSTEM INTERFACE ${KW_TOML_DIR})
