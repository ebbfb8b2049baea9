# cmake -DSOURCE=... -DOUT=FILE -P revision.cmake: writes the git revision as a header, only when it changed.
execute_process(COMMAND git -c "safe.directory=${SOURCE}" -C ${SOURCE} describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(revision "unknown")
endif()
set(text "#pragma once\n\ninline constexpr const char* kw_revision = \"${revision}\";\n")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${OUT} "${text}")
endif()
