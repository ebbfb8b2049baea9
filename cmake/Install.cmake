# Installs bin/, lib/, python/ and share/ side by side, so that the program finds its parts wherever the folder is
# (src/verify/workers/installation.h), and licences/. `make dist` packs it; a wheel has it as kernelwright/program.
#     cmake --install build --component program --prefix FOLDER
install(TARGETS kernelwright RUNTIME DESTINATION bin COMPONENT program)
install(TARGETS kwsandbox LIBRARY DESTINATION lib COMPONENT program)
if(TARGET kwrecorder)
  install(TARGETS kwrecorder LIBRARY DESTINATION lib COMPONENT program)
endif()
if(TARGET kernelwright-replayer)
  install(TARGETS kernelwright-replayer RUNTIME DESTINATION bin COMPONENT program)
endif()

# The manual page and the completion scripts come from the program's own table of verbs and flags.
install(CODE "set(kw_program \"$<TARGET_FILE:kernelwright>\")\nset(kw_share \"${CMAKE_BINARY_DIR}/share\")" COMPONENT program)
install(CODE [[
  function(kw_print file)
    get_filename_component(folder ${kw_share}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    execute_process(COMMAND ${kw_program} ${ARGN} OUTPUT_FILE ${kw_share}/${file} COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  kw_print(man/man1/kernelwright.1 man)
  kw_print(bash-completion/completions/kernelwright completion bash)
  kw_print(zsh/site-functions/_kernelwright completion zsh)
  kw_print(fish/vendor_completions.d/kernelwright.fish completion fish)
]] COMPONENT program)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share DESTINATION . COMPONENT program)

set(KW_NO_BYTECODE PATTERN __pycache__ EXCLUDE PATTERN "*.pyc" EXCLUDE)
install(DIRECTORY python/kernelwright ${CMAKE_BINARY_DIR}/wire/python/kw DESTINATION python COMPONENT program ${KW_NO_BYTECODE})
install(FILES python/requirements-train.txt DESTINATION python COMPONENT program)

# flatbuffers is bundled, because the user's Python that judges may lack it.
set(KW_BUNDLED_FROM ${KW_PYTHON})
if(SKBUILD)
  set(KW_BUNDLED_FROM ${Python_EXECUTABLE})
endif()
install(CODE "set(python \"${KW_BUNDLED_FROM}\")" COMPONENT program)
install(CODE [[
  if(DEFINED ENV{KW_BUNDLED_FROM})
    set(python $ENV{KW_BUNDLED_FROM})
  endif()
  execute_process(COMMAND ${python} -c "import flatbuffers; print(flatbuffers.__path__[0], end='')"
    OUTPUT_VARIABLE folder RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${python} has no flatbuffers: pip install -r python/requirements.txt, or name another by KW_BUNDLED_FROM")
  endif()
  file(INSTALL ${folder} DESTINATION ${CMAKE_INSTALL_PREFIX}/python PATTERN __pycache__ EXCLUDE)
]] COMPONENT program)

install(CODE "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/licences.sh \${CMAKE_INSTALL_PREFIX}/licences COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT program)

# In a wheel the package holds the modules that users import; the program's folder holds the rest.
set(KW_CLIENT_PREFIX .. CACHE STRING "Where the importable package goes, seen from the program's folder")
install(DIRECTORY python/kernelwright/ DESTINATION ${KW_CLIENT_PREFIX} COMPONENT client
  PATTERN _dataset EXCLUDE PATTERN _engine EXCLUDE PATTERN _figures EXCLUDE PATTERN _train EXCLUDE ${KW_NO_BYTECODE})
