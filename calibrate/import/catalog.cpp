#include "calibrate/import/gzip.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "core/csv_records.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace sextant {

extern constinit Importer const bench_importer;
extern constinit Importer const aiconfigurator_importer;
extern constinit Importer const vidur_importer;
extern constinit Importer const nvbench_importer;
extern constinit Importer const kineto_importer;
extern constinit Importer const nccl_tests_importer;
extern constinit Importer const megatron_importer;
extern constinit Importer const torchtitan_importer;
extern constinit Importer const bench_serving_importer;
extern constinit Importer const trtllm_bench_importer;
extern constinit Importer const step_log_importer;
extern constinit Importer const genai_perf_importer;
extern constinit Importer const genai_perf_csv_importer;
extern constinit Importer const bench_print_importer;
extern constinit Importer const offline_bench_importer;
extern constinit Importer const vllm_print_importer;
extern constinit Importer const trainer_state_importer;
extern constinit Importer const trainer_print_importer;

namespace {

constexpr std::array all{&bench_importer,         &aiconfigurator_importer, &vidur_importer,
                         &nvbench_importer,       &kineto_importer,         &nccl_tests_importer,
                         &megatron_importer,      &torchtitan_importer,     &bench_serving_importer,
                         &trtllm_bench_importer,  &genai_perf_importer,     &genai_perf_csv_importer,
                         &bench_print_importer,   &offline_bench_importer,  &vllm_print_importer,
                         &trainer_state_importer, &trainer_print_importer,  &step_log_importer};

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (Importer const* importer : all)
        out.emplace_back(importer->name);
    return out;
}

}  // namespace

std::span<Importer const* const> importers() { return all; }

Importer const& find_importer(std::string_view name) {
    for (Importer const* importer : all)
        if (name == importer->name) return *importer;
    throw InputError("--from: unknown format '{}'{} (formats: {})", name, did_you_mean(name, names()), join(names()));
}

Importer const& importer_for(std::string_view text, std::string const& name) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) throw InputError("{}: is empty", name);
    if (is_gzip(text)) throw InputError("{}: is compressed (unpack it with gunzip)", name);
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw InputError("{}: is UTF-16 (save it as UTF-8)", name);
    if (text.starts_with("PAR1"))  // AIConfigurator's later tables
        throw InputError("{}: is a Parquet file (write it as CSV, as with pandas: read_parquet, to_csv)", name);
    for (Importer const* importer : all)
        if (importer->recognises(text)) return *importer;
    if (auto const other = foreign_benchmark(text); !other.empty()) throw InputError("{}: is of {}", name, other);
    if (header_has(text, {"device", "latency_us"}) || header_has(text, {"run_id", "size_bytes"}))
        throw InputError("{}: is a table of ours already (fit, report and validate take it as it is)", name);
    constexpr std::ptrdiff_t several = 3;  // a line of prose may have one
    std::string_view const first = text.substr(0, text.find('\n'));
    for (char const separator : {';', '\t'})
        if (std::count(first.begin(), first.end(), separator) >= several) check_separator(first, name);
    throw InputError(
        "{}: is in no format that is known (--from one of: {}; what another program says of training or serving may be "
        "written as a row of a table of your own, whose columns are in docs/validation.md: calibrate fit --train and "
        "--serving take it)",
        name, join(names()));
}

void refuse_foreign_file(std::string const& path) {
    std::error_code fault;
    if (!std::filesystem::is_regular_file(path, fault)) return;  // what is read of a pipe is gone
    constexpr std::streamsize enough = std::streamsize{1} << 16;
    std::string text(static_cast<std::size_t>(enough), '\0');
    std::ifstream file(path);
    file.read(text.data(), enough);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (is_gzip(text))
        throw InputError(
            "{}: is compressed (a table: gunzip it; a trace or a log: sextant calibrate import {} --out tables)", path,
            path);
    for (Importer const* importer : all)
        if (importer->recognises(text) && (importer != &bench_importer || text.starts_with('{')))
            throw InputError("{}: is of {}, no table yet (sextant calibrate import {} --out tables)", path,
                             importer->name, path);
}

}  // namespace sextant
