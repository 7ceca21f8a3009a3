# Which commit the sources are of: `<commit>`, `<commit>-dirty` where they differ from it, "unknown" outside of git, or
# what CDOM_REVISION says, for sources that came without their history.
#
#   cmake -DSOURCE=FOLDER -P revision.cmake               says it, on standard error
#   cmake -DSOURCE=FOLDER -DOUTPUT=FILE -P revision.cmake  writes a header, and only if it changed
set(revision "$ENV{CDOM_REVISION}")
if(NOT revision)
  set(ENV{GIT_OPTIONAL_LOCKS} 0)  # Other builds may be looking.
  execute_process(COMMAND git -C "${SOURCE}" describe --always --abbrev=40 --exclude=* --dirty
                  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    set(revision unknown)
  endif()
endif()
if(NOT OUTPUT)
  message("${revision}")
  return()
endif()
set(text "#define CDOM_REVISION \"${revision}\"\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT text STREQUAL before)
  file(WRITE "${OUTPUT}" "${text}")
endif()
