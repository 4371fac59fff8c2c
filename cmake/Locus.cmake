# The vocabulary of our CMake files: locus_library, locus_executable, locus_test, locus_catalog_sources.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# -O3 gains nothing outside the tensor library's kernels and costs a tenth of the build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
find_package(Threads REQUIRED)

# The root of the source tree, also when a part (the engine) is configured alone.
get_filename_component(LOCUS_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

# What is handed out does not tell where it was built, and is the same bytes wherever that was: __FILE__, which assertions
# hold, begins at the source tree. The folder of the build comes last, which counts where one is in the other. Debuggers
# want whole paths, so builds for them keep those.
foreach(place ${LOCUS_ROOT}=. ${CMAKE_BINARY_DIR}=build)
  add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-ffile-prefix-map=${place}>)
endforeach()

include(Precompiled)
include(Processors)

add_library(locus_warnings INTERFACE)
target_compile_options(locus_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping and endless copies in every `"literal" + std::string` (its bug 105651).
  target_compile_options(locus_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-stringop-overflow>)
endif()
if(LOCUS_WERROR)
  target_compile_options(locus_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# Sanitizers for everything in the build: address;undefined or thread.
set(LOCUS_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them, separated by semicolons")
if(LOCUS_SANITIZE)
  list(JOIN LOCUS_SANITIZE "," _sanitizers)
  add_compile_options(-fsanitize=${_sanitizers} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${_sanitizers})
endif()

include(Hardening)

# Fuzzers (tests/fuzz): every parser instrumented for libFuzzer, so a build folder of its own. Their tests are another build's.
option(LOCUS_FUZZ "Build the fuzzers of tests/fuzz; needs clang" OFF)
if(LOCUS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LOCUS_FUZZ needs clang; this is ${CMAKE_CXX_COMPILER_ID}: use make fuzz, which asks for it")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# What `make sanitize` builds and runs: every C++ test but those of the engine that take hours
# there: on a GPU, of the kernels for one, and those that compute with every prior (EVERY_PRIOR, or contract).
if(LOCUS_FUZZ)
  add_custom_target(locus_sanitized)
endif()
# What sanitizers are told of libraries that are built without them: libtorch, and the distribution's Abseil.
function(locus_tell_sanitizers target)
  if(LOCUS_SANITIZE MATCHES thread)
    target_sources(${target} PRIVATE ${LOCUS_ROOT}/cmake/sanitizers/absl_mutex.cc)
    set_source_files_properties(${LOCUS_ROOT}/cmake/sanitizers/absl_mutex.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
      SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if((LOCUS_FUZZ OR LOCUS_SANITIZE MATCHES address) AND "${ARGN}" MATCHES "[Tt]orch|locus_fuzz_(engine|training)")
    target_sources(${target} PRIVATE ${LOCUS_ROOT}/cmake/sanitizers/beside_torch.cc)
  endif()
endfunction()
function(locus_is_sanitized label every_prior out)
  set(${out} OFF PARENT_SCOPE)
  if(NOT LOCUS_FUZZ)
    return()
  endif()
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(engine/kernels|gpu_shim)$")
    return()
  endif()
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/engine/" AND (every_prior OR label MATCHES "^(contract|golden|gpu)$"))
    return()
  endif()
  set(${out} ON PARENT_SCOPE)
endfunction()

# Unity builds compile the sources of a target in batches, since most of the time goes into headers that they share: the
# first build costs half, a later one more than it must, hence not for who changes sources. Names in the anonymous
# namespaces of a target are therefore unique among its sources.
option(LOCUS_UNITY "Compile the sources of each target in batches: for a first build" OFF)
set(LOCUS_UNITY_BATCH 12)  # a batch of few costs nearly what two sources cost; a larger one keeps fewer cores at work
if(LOCUS_UNITY)
  # A batch includes its sources, and GCC takes what it includes for headers, which others might include as well.
  target_compile_options(locus_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# What every target of ours is given, libraries and programs alike.
function(locus_use_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCUS_UNITY} UNITY_BUILD_BATCH_SIZE ${LOCUS_UNITY_BATCH})
endfunction()

# locus_alone(source ...): sources of the calling folder that define again what others of their target define, because
# that is what they are for, and so are compiled by themselves.
function(locus_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# locus_library(name SRCS ... [DEPS PRIVATE|PUBLIC targets ...])
function(locus_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${LOCUS_ROOT})
  target_link_libraries(${name} PRIVATE locus_warnings ${ARG_DEPS})
  locus_use_precompiled(${name})
  locus_use_unity(${name})
endfunction()

# locus_executable(name SRCS ... [DEPS ...] [TEST]); lands in <build>/bin
function(locus_executable name)
  cmake_parse_arguments(ARG "TEST" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${LOCUS_ROOT})
  target_link_libraries(${name} PRIVATE locus_warnings ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  locus_tell_sanitizers(${name} ${ARG_DEPS})
  locus_use_unity(${name})
  if(ARG_TEST)
    set_target_properties(${name} PROPERTIES LOCUS_IS_TEST ON)
    target_compile_options(${name} PRIVATE ${LOCUS_TEST_OPTIONS})
    locus_use_precompiled(${name} TEST)
  else()
    locus_use_precompiled(${name})
  endif()
endfunction()

# locus_test(name SRCS ... [DEPS ...] [LABELS unit|contract|golden|simulation|integration|e2e|gpu|slow] [TIMEOUT s] [WHOLE] [EVERY_PRIOR])
# Every TEST is one CTest case; names read as the specification. WHOLE: all of them are one case, where starting a
# process for each would take longer than the tests. EVERY_PRIOR: left out under sanitizers, where it would take hours.
function(locus_test name)
  cmake_parse_arguments(ARG "WHOLE;EVERY_PRIOR" "TIMEOUT" "SRCS;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  list(LENGTH ARG_LABELS labels)
  if(labels GREATER 1)
    message(FATAL_ERROR "${name} has ${labels} labels; give it one: discovered cases would have none of them")
  endif()
  locus_is_sanitized("${ARG_LABELS}" "${ARG_EVERY_PRIOR}" sanitized)
  if(sanitized)
    set(ARG_LABELS sanitized)
    math(EXPR ARG_TIMEOUT "5 * ${ARG_TIMEOUT}")
  endif()
  locus_executable(${name} TEST SRCS ${ARG_SRCS} DEPS ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(sanitized)
    add_dependencies(locus_sanitized ${name})
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    # COST: long ones begin first, so that no core waits for them at the end.
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT}
      ENVIRONMENT "${ARG_ENVIRONMENT}")
    return()
  endif()
  include(GoogleTest)
  # A case is called what its suite's name generator says; the printed value of a struct is bytes of memory.
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# The sources a .def file names, and a configure error for any file without a line or line without a file.
# locus_catalog_sources(priors.def LOCUS_PRIOR <folder> out [EXCEPT file.cc ...]): LOCUS_PRIOR(rope_axial) -> <folder>/rope_axial.cc
# EXCEPT names the files of the folder that are not items.
function(locus_catalog_sources def macro folder out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${def})
  file(STRINGS ${def} lines REGEX "^${macro}\\(")
  set(named)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^${macro}\\(([a-z0-9_]+)[,)].*" "\\1" item "${line}")
    set(file ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${item}.cc)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "${def} names ${item}, but ${file} does not exist: write it or take the line out")
    endif()
    list(APPEND named ${file})
  endforeach()
  file(GLOB present CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  list(TRANSFORM ARG_EXCEPT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/)
  list(REMOVE_ITEM present ${named} ${ARG_EXCEPT})
  if(present)
    message(FATAL_ERROR "not named in ${def}: ${present}: add a ${macro}(...) line")
  endif()
  set(${out} ${named} PARENT_SCOPE)
endfunction()
