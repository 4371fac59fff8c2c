# What makes a flaw harder to use: programs at addresses that nobody knows, tables that cannot be written, stacks and
# buffers that are checked. tests/tools/hardening_test.py reads the programs and says what is missing.
#
# Compile flags are for optimized builds, which FORTIFY needs, and without sanitizers, which check more. The engine's
# own kernels for the CPU are left out of the checks: they read no outside bytes, and their time is what users wait for.
include_guard(GLOBAL)
option(LOCUS_HARDEN "Compile the programs with checks of stacks, buffers and containers" ON)

include(CheckPIESupported)
check_pie_supported()
add_link_options($<$<LINK_LANGUAGE:C,CXX>:-Wl,-z,relro> $<$<LINK_LANGUAGE:C,CXX>:-Wl,-z,now>
  $<$<LINK_LANGUAGE:C,CXX>:-Wl,-z,noexecstack>)

set(LOCUS_HARDENED OFF)
if(LOCUS_HARDEN AND NOT LOCUS_SANITIZE AND NOT LOCUS_FUZZ AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  set(LOCUS_HARDENED ON)
  set(fortify 2)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    set(fortify 3)
  endif()
  add_compile_options(
    $<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong>
    $<$<COMPILE_LANGUAGE:C,CXX>:-U_FORTIFY_SOURCE>
    $<$<COMPILE_LANGUAGE:C,CXX>:-D_FORTIFY_SOURCE=${fortify}>)
endif()

# locus_unchecked(): for the calling folder alone.
macro(locus_unchecked)
  if(LOCUS_HARDENED)
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-stack-protector>
      $<$<COMPILE_LANGUAGE:C,CXX>:-U_FORTIFY_SOURCE>)
  endif()
endmacro()
