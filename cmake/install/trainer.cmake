# The trainer, which then looks for LibTorch where it is installed and no longer where the build found it. Not a rule of
# CMake's own for targets: with that, CMake would leave an empty entry in the search path of the program in the build
# folder, which means the current folder.
set(_trainer "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/locus-trainer")
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/bin" TYPE EXECUTABLE FILES "${LOCUS_TRAINER}")
file(RPATH_SET FILE "${_trainer}" NEW_RPATH "${LOCUS_TORCH_PLACES}")
if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND "${LOCUS_STRIP}" "${_trainer}" COMMAND_ERROR_IS_FATAL ANY)
endif()
