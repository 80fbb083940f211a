#include "cli/shell/doctor.hpp"

#include "cli/calibrate/describe_host.hpp"
#include "cli/page/plotting_library.hpp"
#include "cli/sweep/ranks.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

namespace sextant::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders_of(char const* variable) {
    char const* const value = std::getenv(variable);
    std::vector<std::string> folders;
    std::istringstream in(value == nullptr ? "" : value);
    for (std::string folder; std::getline(in, folder, ':');)
        if (!folder.empty()) folders.push_back(folder);
    return folders;
}

std::string found_in(std::vector<std::string> const& folders, std::string const& name) {
    for (std::string const& folder : folders) {
        std::error_code ignored;
        fs::path const file = fs::path(folder) / name;
        if (fs::is_regular_file(file, ignored)) return file.string();
    }
    return {};
}

Finding program(std::string name, std::string file, std::string what, std::string remedy) {
    std::string const path = found_in(folders_of("PATH"), file);
    return {.name = std::move(name),
            .kind = "machine",
            .what = std::move(what),
            .version = path,
            .present = !path.empty(),
            .remedy = std::move(remedy)};
}

Finding built(std::string name, std::string what, std::string version, std::string remedy) {
    bool const present = !version.empty();
    return {.name = std::move(name),
            .kind = "build",
            .what = std::move(what),
            .version = std::move(version),
            .present = present,
            .remedy = std::move(remedy)};
}

Finding gpus() {
    std::size_t count = 0;
    std::error_code ignored;
    while (fs::exists("/dev/nvidia" + std::to_string(count), ignored))
        ++count;
    return {.name = "gpu",
            .kind = "machine",
            .what = "NVIDIA GPUs, for 'calibrate run' (planning needs none)",
            .version = count == 0 ? "" : fmt::format("{} device{}", count, count == 1 ? "" : "s"),
            .present = count > 0,
            .remedy = "a machine with a GPU and NVIDIA's driver"};
}

Finding nccl() {
    std::vector<std::string> folders = folders_of("LD_LIBRARY_PATH");
    for (char const* const folder :
         {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/cuda/lib64", "/usr/lib64"})
        folders.emplace_back(folder);
    std::string const path = found_in(folders, "libnccl.so.2");
    return {.name = "nccl",
            .kind = "machine",
            .what = "NCCL, for measuring collectives",
            .version = path,
            .present = !path.empty(),
            .remedy = "apt-get install libnccl2 libnccl-dev (NVIDIA's repository)"};
}

Finding measurements() {
    char const* const folder = std::getenv("SEXTANT_DATA");
    std::error_code ignored;
    bool const there = folder != nullptr && fs::is_directory(folder, ignored);
    return {.name = "measurements",
            .kind = "data",
            .what = "folder of measurement tables (SEXTANT_DATA), for scripts/update-docs",
            .version = there ? folder : "",
            .present = there,
            .remedy = "export SEXTANT_DATA=FOLDER with train/, kernels/, collectives/, serving/"};
}

Finding inside(std::string name, std::string what, std::size_t count) {
    return {.name = std::move(name),
            .kind = "data",
            .what = std::move(what),
            .version = fmt::format("{}", count),
            .present = count > 0,
            .remedy = ""};
}

std::string compiler_name() {
#if defined(__clang__)
    return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
    return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

DoctorReport examine() {
    DoctorReport report{.version = SEXTANT_VERSION,
                        .compiler = compiler_name(),
                        .cores = static_cast<std::int64_t>(std::thread::hardware_concurrency()),
                        .memory_bytes = host_facts().memory_bytes,
                        .findings = {}};
    auto& f = report.findings;
    f.push_back(built("simgrid", "SimGrid, discrete events of 'simulate'", SEXTANT_SIMGRID_VERSION,
                      "apt-get install libsimgrid-dev"));
    f.push_back(built("ceres", "Ceres Solver, fits of 'calibrate' and 'scaling fit'", SEXTANT_CERES_VERSION,
                      "apt-get install libceres-dev"));
    f.push_back(built("mpi", "MPI, for 'mpirun sextant sweep'", std::string(mpi_version()),
                      "apt-get install libopenmpi-dev openmpi-bin, then build anew"));
    f.push_back(built("plotly", "plotly's JavaScript, for --format html", plotting_library().empty() ? "" : "embedded",
                      "scripts/python-env, then configure and build anew"));
    f.push_back(built("cuda", "CUDA benchmarks of kernels/", SEXTANT_CUDA_STATE,
                      "install the CUDA toolkit, then cmake -DSEXTANT_CUDA=ON"));
    f.push_back(gpus());
    f.push_back(program("nvcc", "nvcc", "CUDA compiler", "install the CUDA toolkit, and put its bin in PATH"));
    f.push_back(nccl());
    f.push_back(program("mpirun", "mpirun", "starts a sweep over machines", "apt-get install openmpi-bin"));
    f.push_back(program("bench", "sextant-bench", "the benchmarks, for 'calibrate run' (or --bench FILE)",
                        "cmake --build build/release, and put build/release/kernels in PATH"));
    f.push_back(program("python", "python3", "notebooks and pages", "apt-get install python3 python3-venv"));
    f.push_back(program("man", "man", "reads 'sextant man'", "apt-get install man-db"));
    f.push_back(inside("models", "model presets, inside the program", model_names().size()));
    f.push_back(inside("clusters", "clusters, inside the program", all_clusters().size()));
    f.push_back(inside("accelerators", "accelerators, inside the program", all_accelerators().size()));
    f.push_back(inside("engines", "serving engines, inside the program", engine_names().size()));
    f.push_back(measurements());
    return report;
}

}  // namespace sextant::cli
