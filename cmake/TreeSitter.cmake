# The tree-sitter runtime and its Python grammar, from the C sources that scripts/fetch-sources.sh brings.
set(KW_TREE_SITTER ${CMAKE_SOURCE_DIR}/third_party/tree-sitter)
set(KW_TREE_SITTER_PYTHON ${CMAKE_SOURCE_DIR}/third_party/tree-sitter-python)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/third_party/.fetched)
  message(FATAL_ERROR "third_party/ lacks the sources of tree-sitter: run scripts/fetch-sources.sh")
endif()

add_library(kw_tree_sitter STATIC ${KW_TREE_SITTER}/src/lib.c)
target_include_directories(kw_tree_sitter SYSTEM PUBLIC ${KW_TREE_SITTER}/include PRIVATE ${KW_TREE_SITTER}/src)
target_compile_definitions(kw_tree_sitter PRIVATE _DEFAULT_SOURCE _POSIX_C_SOURCE=200112L)

add_library(kw_tree_sitter_python STATIC ${KW_TREE_SITTER_PYTHON}/src/parser.c ${KW_TREE_SITTER_PYTHON}/src/scanner.c)
target_include_directories(kw_tree_sitter_python PRIVATE ${KW_TREE_SITTER_PYTHON}/src)
target_link_libraries(kw_tree_sitter_python PUBLIC kw_tree_sitter)

foreach(lib kw_tree_sitter kw_tree_sitter_python)
  target_compile_options(${lib} PRIVATE -w -O2)
  if(KW_ASAN AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    # A scanner's functions are declared without a prototype, which is no fault of ours to find.
    target_compile_options(${lib} PRIVATE -fno-sanitize=function)
  endif()
endforeach()
