# A program that loads LibTorch, which it then looks for where it is installed and no longer where the build found it. Not
# a rule of CMake's own for targets: with that, CMake would leave an empty entry in the search path of the program in the
# build folder, which means the current folder.
set(_program "${CMAKE_INSTALL_PREFIX}/bin/${LOCUS_NAME}")
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/bin" TYPE PROGRAM FILES "${LOCUS_PROGRAM}" RENAME "${LOCUS_NAME}")
file(RPATH_SET FILE "$ENV{DESTDIR}${_program}" NEW_RPATH "${LOCUS_TORCH_PLACES}")
if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND "${LOCUS_STRIP}" "$ENV{DESTDIR}${_program}" COMMAND_ERROR_IS_FATAL ANY)
endif()
