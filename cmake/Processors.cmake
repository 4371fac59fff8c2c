# locus_for_processor(KIND files...): compiles these files of the calling folder for a kind of processor that
# engine/base/processor.h names, and by themselves: what the linker may merge with other files must not hold their
# instructions. Sums and products are fused where the code says so and nowhere else, so that a processor's results do not
# depend on the compiler's mood.
function(locus_for_processor kind)
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c)
  set(avx512_bfloat16 ${avx512} -mavx512bf16)
  set(avx512_tiles ${avx512_bfloat16} -mamx-tile -mamx-bf16)
  set(plain "")
  if(NOT DEFINED ${kind})
    message(FATAL_ERROR "no kind of processor is called '${kind}'")
  endif()
  set(flags -O3 -fPIC -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND flags -Wno-uninitialized -Wno-maybe-uninitialized)  # in its own headers (GCC bug 105593)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags};${${kind}}" SKIP_PRECOMPILE_HEADERS ON)
  locus_alone(${ARGN})
endfunction()
