#include "simulator/engine/engine_module.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// The shared object's bytes, between two symbols.
asm(".section .rodata\n"
    ".global sextant_engine_module_begin\n"
    ".global sextant_engine_module_end\n"
    "sextant_engine_module_begin:\n"
    ".incbin \"" SEXTANT_ENGINE_MODULE
    "\"\n"
    "sextant_engine_module_end:\n"
    ".byte 0\n"
    ".text\n");
extern "C" char const sextant_engine_module_begin[];
extern "C" char const sextant_engine_module_end[];

namespace sextant {
namespace {

std::string system_problem(char const* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

EngineModule load() {
    int const file = memfd_create("sextant-engine", MFD_CLOEXEC);
    if (file < 0) return {.problem = system_problem("no memory for the simulation engine")};
    for (char const* at = sextant_engine_module_begin; at < sextant_engine_module_end;) {
        ssize_t const written = write(file, at, static_cast<std::size_t>(sextant_engine_module_end - at));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return {.problem = system_problem("no memory for the simulation engine")};
        at += written;
    }
    // The file stays open: the name is only good as long as it is.
    void* const library = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
        return {.problem = fmt::format("the simulation engine does not load: {} (is SimGrid, package libsimgrid-dev, "
                                       "installed?)",
                                       dlerror())};
    void* const entry = dlsym(library, "sextant_run_engine");
    void* const serving = dlsym(library, "sextant_run_serving");
    if (entry == nullptr || serving == nullptr)
        return {.problem = fmt::format("the simulation engine does not load: {}", dlerror())};
    return {.run = reinterpret_cast<EngineEntry>(entry), .run_serving = reinterpret_cast<ServingEntry>(serving)};
}

}  // namespace

EngineModule const& engine_module() {
    static EngineModule const module = load();
    return module;
}

}  // namespace sextant
