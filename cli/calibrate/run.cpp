#include "cli/calibrate/run.hpp"

#include "cli/calibrate/child_process.hpp"
#include "cli/calibrate/describe_host.hpp"
#include "cli/calibrate/subcommand.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/file_lock.hpp"
#include "cli/options/written_file.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/unavailable.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/json/text_file.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/quantity_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <utility>

namespace sextant::cli {
namespace {

namespace fs = std::filesystem;

constexpr char const* program_name = "sextant-bench";

bool is_program(fs::path const& path) {
    std::error_code fault;
    return fs::is_regular_file(path, fault) && access(path.c_str(), X_OK) == 0;
}

/// Each name once: the benchmarks measure one that is named twice twice.
std::vector<std::string> without_repeats(std::vector<std::string> const& names) {
    std::vector<std::string> out;
    for (std::string const& name : names)
        if (!is_one_of(out, name)) out.push_back(name);
    return out;
}

/// Options in seconds, under the names that the benchmarks have for them.
std::vector<std::pair<std::string, std::optional<double>>> limits_of(BenchRequest const& request) {
    return {{"--max-seconds", request.max_seconds},
            {"--row-seconds", request.row_seconds},
            {"--stall-seconds", request.stall_seconds}};
}

std::vector<std::string> bench_arguments(BenchRequest const& request) {
    std::vector<std::string> arguments{
        "--backend", request.backend,
        request.effort.value_or(BenchEffort::quick) == BenchEffort::full ? "--full" : "--quick", "--out", request.out};
    if (!request.benches.empty()) {
        arguments.emplace_back("--bench");
        arguments.push_back(fmt::format("{}", fmt::join(without_repeats(request.benches), ",")));
    }
    if (request.file == BenchFile::resume) arguments.emplace_back("--resume");
    if (request.gpu) arguments.insert(arguments.end(), {"--device", fmt::format("{}", *request.gpu)});
    for (auto const& [option, seconds] : limits_of(request))
        if (seconds) arguments.insert(arguments.end(), {option, fmt::format("{:g}", *seconds)});
    return arguments;
}

/// The last line of the benchmarks' plan: "147 rows, about 14s". Empty when they could not make one; then they say why.
std::string estimate(std::string const& program, std::vector<std::string> arguments, int& code) {
    arguments.emplace_back("--dry-run");
    std::string plan;
    code = child_output(program, arguments, plan).code;
    if (code != 0 || plan.empty()) return "";
    plan.pop_back();
    auto const line = plan.rfind('\n');
    return line == std::string::npos ? plan : plan.substr(line + 1);
}

/// Rows by benchmark; those that failed apart.
void print_contents(std::string const& path, CommandContext& context) {
    Table table({{"benchmark"}, {"device"}, {"rows", Align::right}, {"failed", Align::right}});
    struct Line {
        std::string bench, device;
        std::size_t rows = 0, failed = 0;
    };
    std::vector<Line> lines;
    CsvTable const rows = read_bench_rows(path);
    for (CsvRecord const& record : rows.records) {
        RowCells const row(rows, record);
        std::string const bench = row.text("bench");
        std::string const device = row.text("device");
        auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](Line const& l) { return l.bench == bench && l.device == device; });
        if (found == lines.end()) found = lines.insert(lines.end(), {.bench = bench, .device = device});
        ++found->rows;
        if (bench_row_failed(row)) ++found->failed;
    }
    for (Line const& line : lines)
        table.add_row({line.bench, line.device, fmt::format("{}", line.rows),
                       line.failed > 0 ? fmt::to_string(line.failed) : ""});
    context.out << for_terminal(table.text(), terminal_of(context.out));
}

/// @throws InputError where no row that is measured can describe the machine: said before an hour of measurements.
void check_described(BenchRequest const& request) {
    if (request.describe_host.empty() && request.describe_cluster.empty()) return;
    char const* const option = request.describe_host.empty() ? "--describe-cluster" : "--describe-host";
    if (request.backend == "cuda")
        throw InputError("{}: is of the processor, and this is --backend cuda (leave it out: profiles of GPUs ship)",
                         option);
    if (request.benches.empty() || request.file == BenchFile::resume) return;
    auto const need = [&](char const* of, std::initializer_list<char const*> one_of) {
        if (std::none_of(one_of.begin(), one_of.end(),
                         [&](char const* name) { return is_one_of(request.benches, name); }))
            throw InputError("{}: needs rows of the benchmark {} (add it to --bench-names)", of, *one_of.begin());
    };
    need(option, {"gemm"});
    need(option, {"memory_bound", "copies"});
    if (!request.describe_cluster.empty()) need("--describe-cluster", {"collectives"});
}

void check(BenchRequest const& request) {
    if (request.out.empty()) throw InputError("--out: is missing (the rows are written there)");
    std::error_code fault;
    if (request.file == BenchFile::fresh && fs::exists(request.out, fault) && fs::file_size(request.out, fault) > 0)
        throw InputError("--out: {} exists (--resume goes on with it; or give another name)", request.out);
    for (std::string const& file : {request.out, request.describe_host, request.describe_cluster})
        if (!file.empty()) require_folder_of(file);  // before an hour of measurements
    check_described(request);
    for (auto const& [option, seconds] : limits_of(request)) {
        bool const is_zero = seconds == 0.0 && option == "--stall-seconds";  // never
        if (seconds && !is_zero && !(*seconds > 0 && *seconds < 1e7))
            throw InputError("{}: is {} (a number above 0 is needed)", option, *seconds);
    }
    if (request.gpu && request.backend == "host")
        throw InputError("--gpu: is of the cuda backend, and this is --backend host (leave one of them out)");
    if (request.gpu && *request.gpu < 0) throw InputError("--gpu: is {} (at least 0)", *request.gpu);
}

/// Takes the file of the rows for one run at a time. The benchmarks inherit the lock: as long as they write, nobody
/// else does, whatever became of this process.
class RowsLock {
public:
    explicit RowsLock(std::string const& path) : file_(open(path.c_str(), O_RDWR | O_CREAT, 0666)) {
        if (file_ < 0) throw InputError("--out: {}: cannot be written ({})", path, std::strerror(errno));
        try {
            lock_file(file_, "--out: " + path, "another 'calibrate run', or its benchmarks,");
        } catch (...) {
            close(file_);
            throw;
        }
    }
    ~RowsLock() { close(file_); }
    RowsLock(RowsLock const&) = delete;
    RowsLock& operator=(RowsLock const&) = delete;

private:
    int file_;
};

void set_effort(BenchRequest& request, BenchEffort effort) {
    if (request.effort && *request.effort != effort)
        throw InputError("--full: cannot be beside --quick (leave one of them out)");
    request.effort = effort;
}

/// "ended with 5", or by which signal: of a file that may not grow (ulimit -f) nothing else is said.
std::string how_ended(int code) {
    constexpr int of_signals = 128;
    if (code <= of_signals) return fmt::format("ended with {}", code);
    return fmt::format("ended by signal {} ({})", code - of_signals, strsignal(code - of_signals));
}

Seconds time_limit(BenchRequest const& request) {
    if (request.time_limit.empty()) return 1e18 * units::s;
    auto const limit = parse_quantity<Seconds>(request.time_limit, "--time-limit");
    if (!(limit > Seconds{})) throw InputError("--time-limit: '{}' (it must be above 0)", request.time_limit);
    return limit;
}

}  // namespace

std::string find_bench_program(std::string const& given) {
    if (!given.empty()) {
        if (!is_program(given)) throw InputError("--bench: '{}' is no program", given);
        return fs::absolute(given).string();
    }
    std::error_code fault;
    fs::path const own = fs::read_symlink("/proc/self/exe", fault).parent_path();
    if (!fault)
        for (fs::path const& folder : {own, own.parent_path() / "kernels"})
            if (is_program(folder / program_name)) return (folder / program_name).string();
    char const* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (!folder.empty() && is_program(fs::path(folder) / program_name))
            return (fs::path(folder) / program_name).string();
    return "";
}

int run_benchmarks(BenchRequest const& request, CommandContext& context) {
    check(request);
    Seconds const limit = time_limit(request);
    std::string const program = find_bench_program(request.program);
    if (program.empty())
        throw UnavailableError(
            "calibrate run: no program sextant-bench beside this one or on PATH (build it: "
            "cmake -S kernels -B bench && cmake --build bench, then --bench bench/sextant-bench)");
    auto const arguments = bench_arguments(request);
    int code = 0;
    std::string const expected = estimate(program, arguments, code);
    if (code != 0) return code;
    context.err << fmt::format("{}: {}\n", program, expected);
    RowsLock const lock(request.out);
    InterruptGuard const guard(context);
    ChildEnd const end = run_child(program, arguments, guard.flag(), limit);
    if (end.late) {
        context.err << fmt::format(
            "not finished within {:g} s and ended; the rows so far are in {} (go on with "
            "--resume, or without the benchmark that hangs)\n",
            limit.base(), request.out);
        return exit_code::answer_is_no;
    }
    if (end.interrupted) {
        context.err << fmt::format("interrupted; the rows so far are in {} (go on with --resume)\n", request.out);
        return interrupted_exit;
    }
    if (end.code > exit_code::unavailable)
        throw InputError("{}: {} (the rows so far are in {}; go on with --resume)", program, how_ended(end.code),
                         request.out);
    if (end.code <= exit_code::answer_is_no) {
        print_contents(request.out, context);
        if (!request.describe_host.empty())
            write_text_file(request.describe_host, host_profile_json(read_bench_rows(request.out), host_facts()));
        if (!request.describe_cluster.empty())
            write_text_file(request.describe_cluster, host_cluster_json(read_bench_rows(request.out), host_facts()));
    }
    return end.code;
}

Subcommand describe_calibrate_run(CLI::App& calibrate, CommandContext& context) {
    auto const request = std::make_shared<BenchRequest>();
    BenchRequest& r = *request;
    CLI::App& app = *calibrate.add_subcommand("run", "measure this machine with sextant-bench");
    written(app.add_option("--out", r.out, "the rows are written there (CSV, docs/kernels.md)"))
        ->required()
        ->option_text("FILE.csv");
    app.add_option("--bench", r.program, "the benchmark program (default: beside this one, else on PATH)")
        ->option_text("PROGRAM");
    app.add_option("--backend", r.backend, "auto (cuda where there is a GPU, else host), cuda, host")
        ->option_text("NAME");
    app.add_option("--bench-names", r.benches, "only these benchmarks (see 'sextant-bench --list')")
        ->delimiter(',')
        ->option_text("A[,B...]");
    app.add_flag_function(
        "--quick",
        [&r](std::int64_t count) {
            if (count > 0) set_effort(r, BenchEffort::quick);
        },
        "few shapes, 2 % of noise (default)");
    app.add_flag_function(
        "--full",
        [&r](std::int64_t count) {
            if (count > 0) set_effort(r, BenchEffort::full);
        },
        "many shapes, half a percent");
    app.add_flag_function(
        "--resume",
        [&r](std::int64_t count) {
            if (count > 0) r.file = BenchFile::resume;
        },
        "go on with an existing --out: what it has is not measured again");
    app.add_option("--max-seconds", r.max_seconds, "begin nothing new after so many seconds")->option_text("S");
    app.add_option("--row-seconds", r.row_seconds,
                   "sample a row for at most so many seconds (default: 0.2 with --quick, 1 with --full)")
        ->option_text("S");
    app.add_option("--stall-seconds", r.stall_seconds,
                   "end where collectives of GPUs have not ended after so many seconds (default 300; 0: never)")
        ->option_text("S");
    app.add_option("--time-limit", r.time_limit,
                   "end the benchmarks after so long, whatever they are at (default: never)")
        ->option_text("TIME");
    app.add_option("--gpu", r.gpu, "which CUDA device (default 0)")->option_text("N");
    written(app.add_option("--describe-host", r.describe_host,
                           "write an accelerator profile of this machine's processor from the rows"))
        ->option_text("FILE.json");
    written(app.add_option("--describe-cluster", r.describe_cluster,
                           "the same as a cluster of processes, for the rows of collectives"))
        ->option_text("FILE.json");
    app.footer(
        "Progress goes to standard error. Ctrl-C leaves whole rows; the same call with --resume goes on.\n\nExamples:\n"
        "  sextant calibrate run --out rows.csv\n"
        "  sextant calibrate run --full --out rows.csv --resume\n"
        "  sextant calibrate run --backend host --out rows.csv --describe-host host.json\n");
    return {&app, [request, &context] { return run_benchmarks(*request, context); }};
}

}  // namespace sextant::cli
