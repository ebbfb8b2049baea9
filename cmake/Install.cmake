# What is installed: bin/, lib/ and python/ side by side, by which the program finds its parts wherever the folder
# lies (src/engine/installation.h), and licences/. `make dist` packs it; a wheel carries it as kernelwright/program.
#     cmake --install build --component program --prefix FOLDER
install(TARGETS kernelwright RUNTIME DESTINATION bin COMPONENT program)
install(TARGETS kwconfine LIBRARY DESTINATION lib COMPONENT program)
if(TARGET kwrecorder)
  install(TARGETS kwrecorder LIBRARY DESTINATION lib COMPONENT program)
endif()
if(TARGET kernelwright-replayer)
  install(TARGETS kernelwright-replayer RUNTIME DESTINATION bin COMPONENT program)
endif()
set(KW_NO_BYTECODE PATTERN __pycache__ EXCLUDE PATTERN "*.pyc" EXCLUDE)
install(DIRECTORY python/kernelwright ${CMAKE_BINARY_DIR}/wire/python/kw DESTINATION python COMPONENT program ${KW_NO_BYTECODE})
install(FILES python/requirements-train.txt DESTINATION python COMPONENT program)

# The Python that judges may be anybody's and lack flatbuffers, so it is bundled.
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

# In a wheel the package itself holds what programs of others import; the rest is the program's, and lies in its folder.
set(KW_CLIENT_PREFIX .. CACHE STRING "Where the importable package goes, seen from the program's folder")
foreach(module __init__ api client client_batch client_http client_types launcher modal_app ray_app rewards)
  install(FILES python/kernelwright/${module}.py DESTINATION ${KW_CLIENT_PREFIX} COMPONENT client)
endforeach()
install(FILES python/kernelwright/py.typed DESTINATION ${KW_CLIENT_PREFIX} COMPONENT client)
install(DIRECTORY python/kernelwright/fleet DESTINATION ${KW_CLIENT_PREFIX} COMPONENT client ${KW_NO_BYTECODE})
