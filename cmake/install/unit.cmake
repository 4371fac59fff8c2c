# The unit of a role, with the place where the programs are installed in it.
set(_unit lib/systemd/system/locus-${LOCUS_ROLE}.service)
file(READ ${LOCUS_ROOT}/deploy/systemd/locus-${LOCUS_ROLE}.service _text)
string(REPLACE "/usr/local/" "${CMAKE_INSTALL_PREFIX}/" _text "${_text}")
message(STATUS "Installing: $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${_unit}")
file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${_unit}" "${_text}")
