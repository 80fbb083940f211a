# sextant_embed(TARGET SYMBOL FILES ...)
#
# Adds a generated source to TARGET that defines `std::span<sextant::EmbeddedText const> sextant::SYMBOL()`: the name (without
# folder and extension) and the text of each file (paths from the project's root), so that the program finds its data wherever it
# is copied to.
function(sextant_embed target symbol)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp)
  set(paths)
  foreach(file IN LISTS arg_FILES)
    list(APPEND paths ${PROJECT_SOURCE_DIR}/${file})
  endforeach()
  string(REPLACE ";" "|" joined "${paths}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} "-DFILES=${joined}"
            -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
