# The CUDA 13 and CUPTI headers of the pinned PyTorch: no toolkit is needed, and nothing of CUDA is linked.
# Without them recorder and replayer are left out, and verdicts on a GPU are in-process ones.
set(KW_CUDA_INCLUDE "" CACHE PATH "Where cuda.h and cupti.h of CUDA 13 lie")
if(NOT KW_CUDA_INCLUDE)
  cmake_path(GET KW_PYTHON PARENT_PATH kw_python_bin)
  set(kw_cuda_packages)
  if(SKBUILD)  # the headers that pyproject.toml asks for
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import nvidia; print(*nvidia.__path__, sep=';', end='')"
      OUTPUT_VARIABLE kw_cuda_packages ERROR_QUIET)
  endif()
  list(TRANSFORM kw_cuda_packages APPEND /cu13/include/cupti.h)
  file(GLOB kw_cuda_found
    ${kw_cuda_packages}
    ${kw_python_bin}/../lib/python3*/site-packages/nvidia/cu13/include/cupti.h
    ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/include/cupti.h)
  foreach(header IN LISTS kw_cuda_found)
    cmake_path(GET header PARENT_PATH folder)
    set(KW_CUDA_INCLUDE ${folder} CACHE PATH "Where cuda.h and cupti.h of CUDA 13 lie" FORCE)
    break()
  endforeach()
endif()
if(KW_CUDA_INCLUDE)
  message(STATUS "CUDA headers: ${KW_CUDA_INCLUDE}")
  add_library(kw_cuda_headers INTERFACE)
  target_include_directories(kw_cuda_headers SYSTEM INTERFACE ${KW_CUDA_INCLUDE})
else()
  message(STATUS "no CUDA 13 headers beside PyTorch: without recorder and replayer")
endif()
