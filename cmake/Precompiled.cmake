# Precompiled headers outside the engine. A folder says which of cmake/precompiled its targets use (and hands that down):
#   set(LOCUS_PRECOMPILED service)
# and the functions of Locus.cmake do the rest; its tests use service_test if that is there. A header is compiled once for
# all of its users (who must link gRPC for any but plain), when the first of them is built: parsing gRPC and JSON costs more than
# compiling most files of ours.
include_guard(GLOBAL)
option(LOCUS_PRECOMPILE "Precompile the heavy headers; off, every file must include what it uses" ON)
# A target that makes a precompiled header.
function(locus_makes_header target)
  set_target_properties(${target} PROPERTIES
    CXX_COMPILER_LAUNCHER "${LOCUS_ROOT}/cmake/compile-header;${CMAKE_CXX_COMPILER_LAUNCHER}")
endfunction()

# One line a header: locus_precompiled(name targets whose headers it includes ...)
function(locus_precompiled name)
  set(target locus_precompiled_${name})
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${LOCUS_ROOT}/cmake/precompiled/${name}.cc)
  target_include_directories(${target} PRIVATE ${LOCUS_ROOT})
  target_link_libraries(${target} PRIVATE locus_warnings ${ARGN})
  target_precompile_headers(${target} PRIVATE ${LOCUS_ROOT}/cmake/precompiled/${name}.h)
  locus_makes_header(${target})
  target_compile_options(${target} PRIVATE ${LOCUS_PRECOMPILED_OPTIONS})
  if(name MATCHES "_test$")
    target_compile_options(${target} PRIVATE ${LOCUS_TEST_OPTIONS})
  endif()
endfunction()

# locus_use_precompiled(target [TEST]): what LOCUS_PRECOMPILED of the calling folder says.
function(locus_use_precompiled target)
  if(NOT LOCUS_PRECOMPILE OR NOT LOCUS_PRECOMPILED)
    return()
  endif()
  set(name ${LOCUS_PRECOMPILED})
  if("TEST" IN_LIST ARGN AND TARGET locus_precompiled_${name}_test)
    set(name ${name}_test)
  endif()
  target_compile_options(${target} PRIVATE ${LOCUS_PRECOMPILED_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM locus_precompiled_${name})
endfunction()

# Users must compile with the very flags of the header: executables are made of position-independent code as well.
set(LOCUS_PRECOMPILED_OPTIONS -fPIC)
# Tests are compiled more often than they run: what they test is optimized, they themselves hardly (-O1 takes a third longer to
# compile, -O2 two thirds; for sanitizers -O1 takes half as long again as -O0).
set(LOCUS_TEST_OPTIONS $<$<CONFIG:Release>:-Og>)
if(LOCUS_FUZZ OR LOCUS_SANITIZE)
  set(LOCUS_TEST_OPTIONS -O0)
endif()
# ccache takes part only if told what it may ignore about the header, and clang must leave out when that was made.
set(LOCUS_CACHED_HEADER)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(LOCUS_CACHED_HEADER -fpch-preprocess)
  else()
    set(LOCUS_CACHED_HEADER "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  list(APPEND LOCUS_PRECOMPILED_OPTIONS ${LOCUS_CACHED_HEADER})
endif()
