# Manual pages and completions, written by the program's own description of its commands.
set(_to "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
message(STATUS "Installing: ${_to}/man/man1")
execute_process(COMMAND ${LOCUS_PYTHON} ${LOCUS_ROOT}/tools/manual ${LOCUS_PROGRAM} ${_to}
  COMMAND_ERROR_IS_FATAL ANY)
