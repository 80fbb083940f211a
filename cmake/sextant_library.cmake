# sextant_library(NAME HEADERS ... SOURCES ... DEPENDS ... [PRIVATE_DEPENDS ...])
#
# One static library per folder, `sextant::NAME`. Includes are written from the root ("core/units.hpp"). Warnings are
# errors, and each header is compiled on its own: by its source, which includes it first (tests/layers checks it), or by the
# target all_verify_interface_header_sets where it has none.
function(sextant_compile_options target)
  if(SEXTANT_FUZZ)  # Clang: warnings are GCC's business
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link
      -fconstexpr-steps=1000000000)  # Clang counts every character of the embedded data
  else()
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)  # false alarm on "text" + std::string (GCC bug 105651)
  endif()
  # False alarm on a function that returns a reference into one argument and takes another by temporary.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(${target} PRIVATE -Wno-dangling-reference)
  endif()
  if(SEXTANT_SANITIZE)
    # Null and misaligned pointers and bad vtables end in a report of ASan or a fault as well; to check for each of them where it is
    # used takes a quarter of the compiler's time.
    target_compile_options(${target} PUBLIC -fsanitize=${SEXTANT_SANITIZERS} -fno-sanitize=null,alignment,vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SEXTANT_SANITIZERS})
  endif()
endfunction()

# Sources that nobody waits for (options, texts, tests) take a third less of the compiler's time so.
function(sextant_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Under ASan and UBSan, optimised so far. GCC sees uninitialised values where sanitizers have added code.
function(sextant_optimise_sanitized target level)
  if(SEXTANT_SANITIZE STREQUAL "ON")
    target_compile_options(${target} PRIVATE ${level} $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
endfunction()

# With SEXTANT_MERGE, sources that cannot disturb each other are compiled together, which halves the compiler's time where
# everything is compiled (scripts/test). Without it each source proves that it includes what it needs.
function(sextant_merge_sources variable target)
  if(NOT SEXTANT_MERGE)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(apart ${${variable}})
  list(FILTER apart INCLUDE REGEX "^/")  # generated, or of another folder
  set(together ${${variable}})
  list(FILTER together INCLUDE REGEX "^[^/].*\\.cpp$")
  list(TRANSFORM together PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/merge_sources.py ${PROJECT_SOURCE_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/${target}_merged ${together}
    OUTPUT_VARIABLE merged OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" merged "${merged}")
  set(${variable} ${merged} ${apart} PARENT_SCOPE)
endfunction()

function(sextant_library name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target sextant_${name})
  set(compiled ${arg_SOURCES})
  sextant_merge_sources(compiled ${target})
  add_library(${target} STATIC ${compiled})
  add_library(sextant::${name} ALIAS ${target})
  set(alone ${arg_HEADERS})
  foreach(source IN LISTS arg_SOURCES)
    string(REGEX REPLACE "\\.cpp$" ".hpp" header ${source})
    list(REMOVE_ITEM alone ${header})
  endforeach()
  set(proven ${arg_HEADERS})
  list(REMOVE_ITEM proven ${alone})
  target_sources(${target} PUBLIC
    FILE_SET proven TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${proven}
    FILE_SET alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
  set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY alone)
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  # The same objects serve the program and the Python module. Nothing hidden can be replaced from outside, so that the
  # optimiser loses nothing by it.
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  sextant_optimise_sanitized(${target} -O1)  # costs the compiler a tenth, and the tests run twice as fast
  sextant_compile_options(${target})
  if(name STREQUAL "cli")  # it has options of its own
    sextant_precompile(${target} ${target})
  else()
    sextant_precompile(${target} sextant_core)
  endif()
endfunction()
