# What find_package(Locus) finds: the public headers of the engine, for plugins (engine/plugin/plugin.h).
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

# The public headers: all that a plugin may include, and whatever these include in their turn.
set(LOCUS_HEADERS_FILE ${LOCUS_ROOT}/engine/plugin/headers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LOCUS_HEADERS_FILE})
file(STRINGS ${LOCUS_HEADERS_FILE} LOCUS_PUBLIC_HEADERS)

# locus_interface_digest(out): a digest of the public headers, which a plugin was compiled with and is asked for. A header that
# includes one that is not public is a configure error: it would not compile where only these are installed.
function(locus_interface_digest out)
  set(digests)
  foreach(header IN LISTS LOCUS_PUBLIC_HEADERS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LOCUS_ROOT}/${header})
    file(SHA256 ${LOCUS_ROOT}/${header} digest)
    string(APPEND digests "${header} ${digest}\n")
    file(STRINGS ${LOCUS_ROOT}/${header} includes REGEX "^#include \"")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      if(NOT included IN_LIST LOCUS_PUBLIC_HEADERS)
        message(FATAL_ERROR "${header} is public and includes ${included}: add that to engine/plugin/headers.txt")
      endif()
    endforeach()
  endforeach()
  string(SHA256 all "${digests}")
  string(SUBSTRING ${all} 0 16 short)
  set(${out} ${short} PARENT_SCOPE)
endfunction()

# locus_write_package(interface): LocusConfig.cmake for the build folder, where the headers are those of the source tree, and for
# the installation, where they lie below include/locus (cmake/Install.cmake puts them there).
function(locus_write_package interface)
  set(LOCUS_INTERFACE ${interface})
  set(LOCUS_TORCH_VERSION ${LocusTorch_VERSION})
  set(PACKAGE_HEADERS ${LOCUS_ROOT})
  get_filename_component(PACKAGE_TORCH ${LocusTorch_INCLUDE_DIR} DIRECTORY)
  configure_file(${LOCUS_ROOT}/cmake/LocusConfig.cmake.in ${CMAKE_BINARY_DIR}/package/LocusConfig.cmake @ONLY)
  set(PACKAGE_HEADERS "\${_locus_prefix}/include/locus")
  # where an administrator's pip puts it for the Debian packages, and the wheel's neighbor
  set(PACKAGE_TORCH
    "\${_locus_prefix}/lib/locus/torch" "\${_locus_prefix}/local/lib/locus/torch" "\${_locus_prefix}/../torch")
  configure_file(${LOCUS_ROOT}/cmake/LocusConfig.cmake.in ${CMAKE_BINARY_DIR}/package/installed/LocusConfig.cmake @ONLY)
  foreach(folder package package/installed)
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/${folder}/LocusConfigVersion.cmake
      VERSION ${PROJECT_VERSION} COMPATIBILITY ExactVersion)
  endforeach()
endfunction()
