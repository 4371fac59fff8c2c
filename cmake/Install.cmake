# What is installed where, by component: the one list that the wheel, the Debian packages, the container image and
# deploy/systemd/install are made from.
#   client       the program `locus`, its manual pages, completions for shells, examples
#   server       what a server reads beside the program, its unit and its user
#   dashboard    the dashboard's build, which npm makes and not this build
#   worker       its unit and its user
#   trainer      locus-trainer, and our CUDA kernels where they were built
#   development  what find_package(Locus) finds, and locus-contract, which `locus plugin test` runs; the latter is a test
#   torch        the LibTorch of this build, for machines that have none: hundreds of megabytes, so only when asked for
#
#     cmake --install BUILD --prefix FOLDER --component NAME [--strip]
#
# Everything is found from where the programs lie, so FOLDER may be moved. The trainer looks for LibTorch in
# FOLDER/lib/locus/torch and, where FOLDER is /usr, in /usr/local/lib/locus/torch: `pip install --target` puts it there.
include_guard(GLOBAL)

# A build folder is laid out like an installation, so that programs look in one place and know no source tree.
set(_share ${CMAKE_BINARY_DIR}/share/locus)
file(MAKE_DIRECTORY ${_share})
file(CREATE_LINK ${LOCUS_ROOT}/engine/catalog.json ${_share}/catalog.json SYMBOLIC)
file(CREATE_LINK ${LOCUS_ROOT}/claims/claims.json ${_share}/claims.json SYMBOLIC)
file(CREATE_LINK ${LOCUS_ROOT}/engine/pictures ${_share}/pictures SYMBOLIC)
file(CREATE_LINK ${LOCUS_ROOT}/web/dist ${_share}/web SYMBOLIC)

# A script of cmake/install, which sees LOCUS_ROOT and what else is given as NAME VALUE.
function(locus_install_script component script)
  set(code "set(LOCUS_ROOT [[${LOCUS_ROOT}]])\n")
  while(ARGN)
    list(POP_FRONT ARGN name value)
    string(APPEND code "set(${name} [[${value}]])\n")
  endwhile()
  install(CODE "${code}" COMPONENT ${component})
  install(SCRIPT ${LOCUS_ROOT}/cmake/install/${script}.cmake COMPONENT ${component})
endfunction()

if(TARGET locus)
  install(TARGETS locus RUNTIME DESTINATION bin COMPONENT client)
  install(DIRECTORY ${LOCUS_ROOT}/examples DESTINATION share/locus COMPONENT client USE_SOURCE_PERMISSIONS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  locus_install_script(client manual LOCUS_PROGRAM ${CMAKE_BINARY_DIR}/bin/locus LOCUS_PYTHON ${Python3_EXECUTABLE})

  install(FILES
    ${LOCUS_ROOT}/claims/claims.json
    ${LOCUS_ROOT}/engine/catalog.json
    DESTINATION share/locus COMPONENT server)
  install(DIRECTORY ${LOCUS_ROOT}/engine/pictures DESTINATION share/locus COMPONENT server)
  locus_install_script(dashboard dashboard)
  foreach(role server worker)
    locus_install_script(${role} unit LOCUS_ROLE ${role})
    install(FILES ${LOCUS_ROOT}/deploy/systemd/locus-${role}.conf DESTINATION lib/sysusers.d COMPONENT ${role})
  endforeach()
endif()

# A program that loads LibTorch, under the name that it is installed with.
function(locus_install_torch_program component target name)
  set(places "$ORIGIN/../lib/locus/torch/lib" "$ORIGIN/../local/lib/locus/torch/lib")
  # In the build folder they stand beside the folders of the build, so that there is room for them.
  set_target_properties(${target} PROPERTIES BUILD_RPATH "${places}")
  list(JOIN places ":" places)
  locus_install_script(${component} torch_program LOCUS_PROGRAM $<TARGET_FILE:${target}> LOCUS_NAME ${name}
    LOCUS_STRIP ${CMAKE_STRIP} LOCUS_TORCH_PLACES ${places})
endfunction()

if(TARGET locus-trainer)
  locus_install_torch_program(trainer locus-trainer locus-trainer)
  foreach(_plugin kernels graphs)
    install(FILES ${CMAKE_BINARY_DIR}/bin/liblocus_${_plugin}_cuda.so DESTINATION lib/locus COMPONENT trainer OPTIONAL)
  endforeach()

  # As the wheels of torch lie beside one another: torch finds NVIDIA's libraries from where it lies itself.
  get_filename_component(_torch ${LocusTorch_CPU_LIBRARY} DIRECTORY)
  get_filename_component(_beside ${_torch}/../../nvidia ABSOLUTE)
  install(DIRECTORY ${_torch}/ DESTINATION lib/locus/torch/lib COMPONENT torch EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.so*" PATTERN "libtorch_python.so" EXCLUDE PATTERN "libshm*" EXCLUDE)
  if(EXISTS ${_beside})
    install(DIRECTORY ${_beside} DESTINATION lib/locus COMPONENT torch EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.so*")
  endif()
endif()

if(TARGET locus_engine_plugin)
  file(STRINGS ${LOCUS_ROOT}/engine/plugin/headers.txt _headers)
  foreach(_header IN LISTS _headers)
    get_filename_component(_folder ${_header} DIRECTORY)
    install(FILES ${LOCUS_ROOT}/${_header} DESTINATION include/locus/${_folder} COMPONENT development)
  endforeach()
  install(FILES
    ${CMAKE_BINARY_DIR}/package/installed/LocusConfig.cmake
    ${CMAKE_BINARY_DIR}/package/installed/LocusConfigVersion.cmake
    DESTINATION lib/cmake/Locus COMPONENT development)
endif()
if(TARGET engine_priors_contract_test)
  locus_install_torch_program(development engine_priors_contract_test locus-contract)
endif()
