# What 'cmake --install' and 'cpack' put where. The data and the simulation engine are inside the program; the folder it lies in
# does not matter (docs/install.md).
#
# Components: `program` (all that is needed where the libraries are), `site` (what Debian keeps elsewhere), `debian` (the same, as
# Debian has it) and `libraries` (copies of the shared libraries, for the tarball). 'cmake --install' installs the first two.
include(GNUInstallDirs)

# Copies of libraries beside the program win, also for the engine, which is loaded from memory: DT_RPATH of a program holds for
# what it loads, DT_RUNPATH does not.
set(sextant_libraries_folder ${CMAKE_INSTALL_LIBDIR}/sextant)
file(RELATIVE_PATH rpath /${CMAKE_INSTALL_BINDIR} /${sextant_libraries_folder})
set_target_properties(sextant_program PROPERTIES INSTALL_RPATH "$ORIGIN/${rpath}")
target_link_options(sextant_program PRIVATE -Wl,--disable-new-dtags)

# The program writes its own manual page and completions.
set(share ${PROJECT_BINARY_DIR}/share)
add_custom_command(
  OUTPUT ${share}/sextant.1 ${share}/sextant ${share}/_sextant ${share}/sextant.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${share}
  COMMAND sextant_program man > ${share}/sextant.1
  COMMAND sextant_program completion bash > ${share}/sextant
  COMMAND sextant_program completion zsh > ${share}/_sextant
  COMMAND sextant_program completion fish > ${share}/sextant.fish
  DEPENDS sextant_program
  COMMENT "Manual page and completions"
  VERBATIM)
add_custom_target(sextant_share ALL DEPENDS ${share}/sextant.1)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS sextant_program sextant_bench RUNTIME)
install(FILES ${share}/sextant.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${share}/sextant DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${share}/sextant.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${share}/_sextant DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT site)
install(FILES ${share}/_sextant DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# To start from when describing a machine or a model of one's own.
install(FILES hardware_profiles/clusters/h100-sxm.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME cluster.json)
install(FILES hardware_profiles/accelerators/h100-sxm.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME accelerator.json)
install(FILES models/llama-3-8b.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME model.json)

install(CODE "
  set(programs \"$<TARGET_FILE:sextant_program>\" \"$<TARGET_FILE:sextant_bench>\")
  set(modules \"$<TARGET_FILE:sextant_engine>\")
  set(libraries_folder \"${sextant_libraries_folder}\")
  set(licences_folder \"${CMAKE_INSTALL_DOCDIR}/libraries\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/bundle_libraries.cmake\")"
  COMPONENT libraries EXCLUDE_FROM_ALL)

set(SEXTANT_MAINTAINER "Sextant developers <root@localhost>" CACHE STRING "Maintainer that the Debian package names")
# The engine is carried inside the program, where dpkg-shlibdeps does not see what it needs.
get_filename_component(library ${SimGrid_LIBRARY} REALPATH)
execute_process(COMMAND dpkg-query -S ${library} OUTPUT_VARIABLE owner ERROR_QUIET)
if(owner MATCHES "^([^:]+):")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS ${CMAKE_MATCH_1})
endif()

set(CPACK_PACKAGE_NAME sextant)
set(CPACK_PACKAGE_VENDOR Sextant)
set(CPACK_PACKAGE_CONTACT ${SEXTANT_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "planner and simulator for training and serving large models")
set(CPACK_PACKAGE_DESCRIPTION
  "Says before any accelerator is rented how to split a training run over a cluster,
how long it takes, what it costs, whether it fits and why it is slow, and how a
model will serve: in closed form and by discrete-event simulation, with profiles
fitted to published measurements.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER "sextant-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS openmpi-bin)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_contents.cmake)
include(CPack)
