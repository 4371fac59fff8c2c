# LibTorch as the `lib` and `include` of a PyTorch wheel or install. The wheel's own TorchConfig.cmake insists on a CUDA toolkit;
# a CPU build needs only libtorch_cpu and libc10, and the same files serve CUDA at run time.
#   LOCUS_TORCH   folder that holds `lib` and `include` (a wheel's `torch` folder); default: what tools/setup fetched
# Defines LocusTorch::torch.
set(LOCUS_TORCH "" CACHE PATH "A torch folder with lib and include; empty: the pinned wheel that tools/setup unpacked")
set(_candidates ${LOCUS_TORCH})
if(NOT LOCUS_TORCH)
  if(DEFINED ENV{LOCUS_CACHE})
    set(_candidates $ENV{LOCUS_CACHE}/libtorch-2.11.0/torch)
  else()
    set(_candidates $ENV{HOME}/.cache/locus/libtorch-2.11.0/torch)
  endif()
endif()
find_path(LocusTorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h
  PATHS ${_candidates} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(LocusTorch_CPU_LIBRARY torch_cpu PATHS ${_candidates} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_library(LocusTorch_C10_LIBRARY c10 PATHS ${_candidates} PATH_SUFFIXES lib NO_DEFAULT_PATH)
set(LocusTorch_VERSION)
foreach(part MAJOR MINOR PATCH)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${LocusTorch_INCLUDE_DIR}/${header}")
      file(STRINGS ${LocusTorch_INCLUDE_DIR}/${header} line REGEX "^#define TORCH_VERSION_${part} [0-9]+")
      if(line)
        string(REGEX REPLACE ".* ([0-9]+).*" "\\1" number "${line}")
        list(APPEND LocusTorch_VERSION ${number})
        break()
      endif()
    endif()
  endforeach()
endforeach()
list(JOIN LocusTorch_VERSION "." LocusTorch_VERSION)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LocusTorch
  REQUIRED_VARS LocusTorch_INCLUDE_DIR LocusTorch_CPU_LIBRARY LocusTorch_C10_LIBRARY
  REASON_FAILURE_MESSAGE "run tools/setup, or point -DLOCUS_TORCH at a folder with a PyTorch install's lib and include")
if(LocusTorch_FOUND AND NOT TARGET LocusTorch::torch)
  get_filename_component(LocusTorch_LIBRARY_DIR ${LocusTorch_CPU_LIBRARY} DIRECTORY)
  add_library(LocusTorch::torch INTERFACE IMPORTED)
  target_include_directories(LocusTorch::torch SYSTEM INTERFACE
    ${LocusTorch_INCLUDE_DIR} ${LocusTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_compile_definitions(LocusTorch::torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  # Its headers name themselves in every assertion: as in Locus.cmake, not by where they lie here.
  target_compile_options(LocusTorch::torch INTERFACE
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-ffile-prefix-map=${LocusTorch_INCLUDE_DIR}=torch>)
  # at::parallel_for is a template of these headers: compiled without OpenMP it is a loop of one thread. Its runtime is the copy
  # that torch itself loads, since at::set_num_threads() speaks to no other. Clang brings another runtime, so there loops stay
  # loops.
  target_compile_options(LocusTorch::torch INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fopenmp>)
  file(GLOB LocusTorch_OPENMP_LIBRARY ${LocusTorch_LIBRARY_DIR}/libgomp*.so*)
  target_link_libraries(LocusTorch::torch INTERFACE
    ${LocusTorch_CPU_LIBRARY} ${LocusTorch_C10_LIBRARY} Threads::Threads dl
    $<IF:$<BOOL:${LocusTorch_OPENMP_LIBRARY}>,${LocusTorch_OPENMP_LIBRARY},$<$<CXX_COMPILER_ID:GNU>:gomp>>)
  # CMake itself writes where the libraries lie into what is built, and takes it out of what is installed.
  target_link_options(LocusTorch::torch INTERFACE -Wl,-rpath-link,${LocusTorch_LIBRARY_DIR})
endif()
