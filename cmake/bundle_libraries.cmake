# Run at installation (cmake/install.cmake): copies the shared libraries that `programs` and `modules` need into
# `libraries_folder`, and what their packages say of copyright into `licences_folder`. What belongs to the C and C++ compilers
# stays where it is: it comes with every system, and must be the newest.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR libraries
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|stdc\\+\\+|gcc_s)\\.so")
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
file(MAKE_DIRECTORY "${prefix}/${libraries_folder}" "${prefix}/${licences_folder}")
foreach(library IN LISTS libraries)
  get_filename_component(name "${library}" NAME)
  get_filename_component(file "${library}" REALPATH)
  string(REGEX REPLACE "^/usr" "" listed "${file}")  # some packages list their files as they were before /usr was all
  list(APPEND files "${file}" "${listed}")
  file(COPY_FILE "${file}" "${prefix}/${libraries_folder}/${name}")
  file(RPATH_REMOVE FILE "${prefix}/${libraries_folder}/${name}")  # its own dependencies lie beside it, too
endforeach()

execute_process(COMMAND dpkg-query -S ${files} OUTPUT_VARIABLE owners ERROR_QUIET)
string(REGEX MATCHALL "[^\n]+" owners "${owners}")
list(TRANSFORM owners REPLACE ":.*" "")
list(REMOVE_DUPLICATES owners)
foreach(package IN LISTS owners)
  if(EXISTS "/usr/share/doc/${package}/copyright")
    file(COPY_FILE "/usr/share/doc/${package}/copyright" "${prefix}/${licences_folder}/${package}.copyright")
  endif()
endforeach()
if(NOT owners)
  message(WARNING "no dpkg here: the licences of the libraries in ${libraries_folder} are for you to add")
endif()
