#include "cli/page/plotting_library.hpp"

#include "cli/unavailable.hpp"

// The library is five megabytes of text: the assembler copies the file, the compiler need not read it.
#ifdef SEXTANT_PLOTLY_FILE
__asm__(
    ".section .rodata\n"
    "sextant_plotly_begin:\n"
    ".incbin \"" SEXTANT_PLOTLY_FILE
    "\"\n"
    "sextant_plotly_end:\n"
    ".previous\n");
extern "C" char const sextant_plotly_begin[];
extern "C" char const sextant_plotly_end[];
#endif

namespace sextant::cli {

std::string_view plotting_library() {
#ifdef SEXTANT_PLOTLY_FILE
    return {sextant_plotly_begin, static_cast<std::size_t>(sextant_plotly_end - sextant_plotly_begin)};
#else
    return {};
#endif
}

void require_plotting_library() {
    if (plotting_library().empty())
        throw UnavailableError(
            "--format html: this build has no plotting library (run scripts/python-env, then configure and build "
            "again: cmake --preset release && cmake --build --preset release)");
}

}  // namespace sextant::cli
