#include "kernels/harness/options.hpp"

#include <charconv>
#include <cmath>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {
namespace {

template <class Number>
Number number(std::string const& option, std::string const& text) {
    Number value{};
    auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const finite = std::isfinite(static_cast<double>(value));
    if (fault != std::errc{} || end != text.data() + text.size() || !finite || value < Number{})
        throw BadInput(option + ": \"" + text + "\" is not a number of at least 0");
    return value;
}

std::vector<std::string> names(std::string const& option, std::string const& text) {
    std::vector<std::string> result(1);
    for (char const c : text) {
        if (c == ',')
            result.emplace_back();
        else
            result.back() += c;
    }
    for (std::string const& name : result)
        if (name.empty()) throw BadInput(option + ": \"" + text + "\" has an empty name");
    return result;
}

BackendChoice backend(std::string const& text) {
    if (text == "auto") return BackendChoice::automatic;
    if (text == "cuda") return BackendChoice::cuda;
    if (text == "host") return BackendChoice::host;
    throw BadInput("--backend: \"" + text + "\" is not known (auto, cuda, host)");
}

FileFormat file_format(std::string const& text) {
    if (text == "csv") return FileFormat::csv;
    if (text == "jsonl") return FileFormat::jsonl;
    throw BadInput("--format: \"" + text + "\" is not known (csv, jsonl)");
}

/// Options without a value; false if `option` is none of them.
bool set_flag(Options& options, std::string const& option) {
    if (option == "--list")
        options.action = Action::list;
    else if (option == "--dry-run")
        options.action = Action::dry_run;
    else if (option == "--help" || option == "-h")
        options.action = Action::help;
    else if (option == "--quick")
        options.effort = Effort::quick;
    else if (option == "--full")
        options.effort = Effort::full;
    else if (option == "--resume")
        options.existing = Existing::append;
    else
        return false;
    return true;
}

/// Options with a value; false if `option` is none of them.
bool set_value(Options& options, std::string const& option, std::string const& value) {
    if (option == "--backend")
        options.backend = backend(value);
    else if (option == "--bench")
        options.benches = names(option, value);
    else if (option == "--out")
        options.out = value;
    else if (option == "--format")
        options.format = file_format(value);
    else if (option == "--max-seconds")
        options.max_seconds = number<double>(option, value);
    else if (option == "--row-seconds")
        options.row_seconds = number<double>(option, value);
    else if (option == "--stall-seconds")
        options.stall_seconds = number<double>(option, value);
    else if (option == "--device")
        options.device = number<int>(option, value);
    else if (option == "--seed")
        options.seed = number<std::uint64_t>(option, value);
    else
        return false;
    return true;
}

}  // namespace

Options parse_options(std::vector<std::string> const& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string option = arguments[i];
        if (set_flag(options, option)) continue;
        std::string value;
        bool has_value = false;
        if (auto const equals = option.find('='); option.starts_with("--") && equals != std::string::npos) {
            value = option.substr(equals + 1);
            option.resize(equals);
            has_value = true;
        } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
            value = arguments[i + 1];
            has_value = true;
        }
        bool const in_next = option.size() == arguments[i].size();
        if (!has_value) throw BadInput("\"" + option + "\" is not an option, or its value is missing (see --help)");
        if (!set_value(options, option, value)) throw BadInput("\"" + option + "\" is not an option (see --help)");
        if (in_next) ++i;
    }
    if (options.existing == Existing::append && options.out == "-")
        throw BadInput("--resume: needs --out FILE, the rows to go on from");
    return options;
}

char const* help_text() {
    return R"(Usage: sextant-bench [options]

Times kernels, copies, collectives and launches on this machine, after comparing each with a reference in double
precision. One row per measurement; progress goes to stderr.

  --list             the benchmarks of the backend
  --dry-run          the rows that would be measured, with an estimate of time
  --backend NAME     auto (cuda where there is a GPU, else host), cuda, host
  --bench A[,B]      only these benchmarks
  --quick, --full    few shapes, a few percent of noise (default); many shapes, half a percent
  --out FILE         append the rows to a new FILE (default: stdout)
  --format NAME      csv (default), jsonl
  --resume           go on with an existing --out FILE: rows that it has are not measured again
  --max-seconds S    begin no new problem after S seconds; problems are then taken in a mixed order, so that a run cut
                     short has something of every kernel and size
  --row-seconds S    sample a row for at most S seconds (default: 0.2 with --quick, 1 with --full)
  --stall-seconds S  end the program where collectives of GPUs have not ended after S seconds, or NCCL tells of an
                     error while they are waited for (default 300; 0: wait as long as they take)
  --device N         CUDA device (default 0)
  --seed N           of the generated inputs (default 1)
  --help             this text

Examples:
  sextant-bench --list
  sextant-bench --quick --out rows.csv
  sextant-bench --backend host --bench gemm,memory_bound
  sextant-bench --full --out rows.csv --max-seconds 1800
  sextant-bench --full --out rows.csv --resume
  sextant-bench --full --out rows.csv --max-seconds 300 --row-seconds 0.2    a device that is only lent

Exit: 0 done, 1 a kernel gave a wrong result or failed, 2 bad input, 3 hardware or a library is missing.
)";
}

}  // namespace sextant::bench
