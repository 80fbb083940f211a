# sextant_precompile(TARGET FIRST): what nearly every source includes of the standard library and fmt is read once for all
# targets with the options of FIRST (which is TARGET the first time). Reading it was a third of the compiler's time.
# <filesystem> is not among them: std::quoted, which comes with it, hides our own.
# tests/layers checks that each file still includes what it uses. The tests read their own: SEXTANT_SOURCE_DIR would keep
# ccache from what another clone compiled.
set(precompiled_headers
  <algorithm> <array> <charconv> <cmath> <cstdint> <functional> <map> <memory> <numeric> <optional> <set> <span> <sstream>
  <string> <string_view> <vector> <fmt/format.h>)

set(tried OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\." AND NOT SEXTANT_FUZZ)
  set(tried ON)
endif()
option(SEXTANT_PRECOMPILE "Read headers of the standard library and fmt once (by default with GCC 12, with which it was tried)" ${tried})

# Without these ccache caches nothing that is compiled so, or, as no two precompiled files are the same to the byte, only
# in this folder: it takes the text of sextant_precompile for the file.
if(SEXTANT_PRECOMPILE AND CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=true ${CCACHE_PROGRAM})
endif()

function(sextant_precompile target first)
  if(NOT SEXTANT_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${precompiled_headers})
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum
      "${CMAKE_CXX_COMPILER_VERSION} ${fmt_VERSION} ${precompiled_headers}\n")
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC forgets that std::string's code is not ours: false alarms. ccache has to see that a header was precompiled.
    target_compile_options(${target} PRIVATE
      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -fpch-preprocess)
  endif()
endfunction()
