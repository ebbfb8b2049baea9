# The tree-sitter runtime and its Python and CUDA grammars, from the C sources of scripts/fetch-sources.sh.
set(KW_TREE_SITTER ${CMAKE_SOURCE_DIR}/third_party/tree-sitter)
set(KW_TREE_SITTER_PYTHON ${CMAKE_SOURCE_DIR}/third_party/tree-sitter-python)
set(KW_TREE_SITTER_CUDA ${CMAKE_SOURCE_DIR}/third_party/tree-sitter-cuda)
if(SKBUILD AND NOT EXISTS ${CMAKE_SOURCE_DIR}/third_party/.fetched)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHON=${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/fetch-sources.sh)
endif()
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/third_party/.fetched OR NOT EXISTS ${KW_TREE_SITTER_CUDA})
  message(FATAL_ERROR "third_party/ lacks the sources of tree-sitter: run scripts/fetch-sources.sh")
endif()

add_library(kw_tree_sitter STATIC ${KW_TREE_SITTER}/src/lib.c)
target_include_directories(kw_tree_sitter SYSTEM PUBLIC ${KW_TREE_SITTER}/include PRIVATE ${KW_TREE_SITTER}/src)
target_compile_definitions(kw_tree_sitter PRIVATE _DEFAULT_SOURCE _POSIX_C_SOURCE=200112L)

foreach(language python cuda)
  string(TOUPPER KW_TREE_SITTER_${language} folder)
  add_library(kw_tree_sitter_${language} STATIC ${${folder}}/src/parser.c ${${folder}}/src/scanner.c)
  target_include_directories(kw_tree_sitter_${language} PRIVATE ${${folder}}/src)
  target_link_libraries(kw_tree_sitter_${language} PUBLIC kw_tree_sitter)
endforeach()

foreach(lib kw_tree_sitter kw_tree_sitter_python kw_tree_sitter_cuda)
  target_compile_options(${lib} PRIVATE -w -O2)
  if(KW_SANITIZE)
    # A scanner's functions are declared without a prototype, which is no fault of ours to find.
    target_compile_options(${lib} PRIVATE -fno-sanitize=function)
  endif()
endforeach()
