# Compiles several sources of a target in one unit, because shared headers and templates take most of the time.
# OFF compiles each source separately, for editors and debuggers.
option(KW_UNITY "Compile the sources of a target together" ON)
set(KW_UNITY_SOURCES 16 CACHE STRING "How many sources are compiled together")
function(kw_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${KW_UNITY} UNITY_BUILD_BATCH_SIZE ${KW_UNITY_SOURCES})
endfunction()

# kw_library(NAME SOURCES ... DEPENDS ... [PRIVATE_DEPENDS ...])
# One folder in src/ is one static library. Its headers are included as "NAME/header.h"; only the folders in
# DEPENDS are linked, and tests/house compares includes with this graph.
function(kw_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(kw_${name} STATIC ${ARG_SOURCES})
  target_include_directories(kw_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(kw_${name} PUBLIC ${ARG_DEPENDS} PRIVATE kw_warnings ${ARG_PRIVATE_DEPENDS})
  kw_use_precompiled(kw_${name} kw_precompiled_program)
  kw_unity(kw_${name})
endfunction()
