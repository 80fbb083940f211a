# SimGrid, which Debian packages without a CMake configuration. Defines SimGrid::SimGrid and SimGrid_VERSION. Its headers count as
# system headers: they are not clean under the project's warnings.
find_path(SimGrid_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SimGrid_LIBRARY simgrid)
if(SimGrid_INCLUDE_DIR AND EXISTS ${SimGrid_INCLUDE_DIR}/simgrid/version.h)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${SimGrid_INCLUDE_DIR}/simgrid/version.h line REGEX "define SIMGRID_VERSION_${part} ")
    string(REGEX REPLACE ".*${part} +([0-9]+).*" "\\1" SimGrid_${part} "${line}")
  endforeach()
  set(SimGrid_VERSION ${SimGrid_MAJOR}.${SimGrid_MINOR}.${SimGrid_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid
  REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR
  VERSION_VAR SimGrid_VERSION
  REASON_FAILURE_MESSAGE "the simulator runs on SimGrid: install libsimgrid-dev, e.g. with scripts/install-packages")
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)
if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES
    IMPORTED_LOCATION ${SimGrid_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR})
endif()
