# The dashboard, which npm has built. A former one goes first: names of its files change with what is in them.
set(_from ${LOCUS_ROOT}/web/dist)
if(NOT EXISTS ${_from}/index.html)
  message(FATAL_ERROR "${_from}/index.html is missing, which a server shows; run make build first")
endif()
file(REMOVE_RECURSE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/locus/web")
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/share/locus/web" TYPE DIRECTORY FILES "${_from}/")
