#include "calibrate/import/nccl_tests_log.hpp"

#include "calibrate/import/log_line.hpp"
#include "calibrate/import/nccl_tests_columns.hpp"
#include "calibrate/import/nccl_tests_line.hpp"
#include "calibrate/import/nccl_tests_ranks.hpp"
#include "calibrate/import/nccl_tests_settings.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace sextant {
namespace {

/// nccl-tests' names of collectives and other spellings; a name that holds another goes before it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> spellings{{{"all_reduce", "all_reduce"},
                                                                                   {"all-reduce", "all_reduce"},
                                                                                   {"allreduce", "all_reduce"},
                                                                                   {"all_gather", "all_gather"},
                                                                                   {"all-gather", "all_gather"},
                                                                                   {"allgather", "all_gather"},
                                                                                   {"reduce_scatter", "reduce_scatter"},
                                                                                   {"reduce-scatter", "reduce_scatter"},
                                                                                   {"reducescatter", "reduce_scatter"},
                                                                                   {"alltoall", "alltoall"},
                                                                                   {"all_to_all", "alltoall"},
                                                                                   {"broadcast", "broadcast"},
                                                                                   {"sendrecv", "sendrecv"},
                                                                                   {"hypercube", "hypercube"}}};

/// nccl-tests' programs, without "_perf".
constexpr std::array programs{"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
                              "sendrecv",   "hypercube",  "reduce",         "gather",   "scatter"};

/// The longest end of a name that is a program's, behind whatever else is in it ("rccl_all_reduce", "mi300x_alltoall");
/// one that no program has is left as it is.
std::string_view program_in(std::string_view name) {
    for (std::string_view end = name;;) {
        if (is_one_of(programs, end)) return end;
        auto const cut = end.find('_');
        if (cut == std::string_view::npos) return name;
        end.remove_prefix(cut + 1);
    }
}

/// The collective that a text names, and how: as a program ("all_gather_perf"), or in another way.
struct Named {
    std::string collective;
    bool as_program = false;
};

Named named_in(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    if (auto const end = text.find("_perf"); end != std::string_view::npos) {
        auto const before = text.substr(0, end).find_last_not_of(letters);
        std::string_view program = text.substr(before + 1, end - before - 1);
        program.remove_prefix(std::min(program.find_first_not_of('_'), program.size()));  // of "run2_all_reduce_perf"
        if (!program.empty()) return {std::string(program_in(program)), true};
    }
    for (auto const& [spelling, collective] : spellings)
        if (text.find(spelling) != std::string_view::npos) return {std::string(collective), false};
    return {};
}

/// "2.28.7" of 22807, "2.8.4" of 2804; empty when it is no such number. Source: NCCL_VERSION in nccl.h.
std::string version_of_code(std::string_view text) {
    int code = 0;
    if (!is_number(text.substr(0, text.find_first_not_of("0123456789")), code) || code < 1000) return "";
    int const major = code < 10000 ? 1000 : 10000;
    return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

constexpr std::string_view too_few = "has too few columns";
constexpr std::string_view broken = "is broken by another line";

/// Whether a line ends where the next begins, or where the text was cut off.
enum class LineEnd { newline, missing };

class LogReader {
public:
    LogReader(std::string const& name, std::string const& unsaid) : name_(name), unsaid_(unsaid) {}

    void read(std::string_view raw, std::size_t number, LineEnd end) {
        std::string_view line = without_prefixes(raw);
        auto words = words_of(line);
        if (words.empty()) return;
        if (!words.front().starts_with('#')) {
            drop_trailing_time(words);
            if (words.empty() || read_figures(words, number)) return;
            if (end == LineEnd::missing && has_sizes() && cut_line_ == 0 && begins_size(words_of(raw)))
                hold(number, too_few);
        }
        if (auto const comment = line.find("# "); comment != std::string_view::npos && comment > 0) {
            line = line.substr(comment);  // behind something that no launcher of ours is known to print
            words = words_of(line);
        }
        read_head(line, words);
    }

    std::vector<NcclTestsLog> take() {
        if (has_sizes() || cut_line_ > 0 || runs_.empty()) finish_run();
        return std::move(runs_);
    }

private:
    [[nodiscard]] bool has_sizes() const { return columns_ > 0; }

    /// Whether the line is of a size, or of what another line left of one.
    bool read_figures(std::vector<std::string_view>& words, std::size_t number) {
        std::size_t const message = message_position(words);
        auto const at = size_position(words, head_);
        if (at && *at < message) {
            if (!has_head_ && words.size() - *at < head_.least()) return false;
            std::vector<std::string_view> figures{words.begin() + static_cast<std::ptrdiff_t>(*at),
                                                  words.begin() + static_cast<std::ptrdiff_t>(message)};
            if (message == words.size())
                read_size(std::move(figures), number);
            else
                read_size_before_message(std::move(figures), number);
            return true;
        }
        if (message < words.size()) return false;
        if (has_figures_of_size(words, head_)) refuse_size(words, number);
        if (cut_line_ == 0 || !is_rest_of_size(words, head_)) return false;
        ++run_.skipped[std::string(broken)];
        cut_line_ = 0;
        return true;
    }

    void read_head(std::string_view line, std::vector<std::string_view> const& words) {
        auto const has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
        // What the library says of itself ("NCCL_ALGO set by environment to allreduce:ring") names no test.
        bool const is_message = message_position(words) < words.size();
        Named named = named_in(line);
        if (!named.as_program && (is_message || has("NCCL_ALGO"))) named = {};
        bool const rank = NcclTestsRanks::is_rank(words);
        bool const parameters = has("# nThread") || has("# Using devices");
        if ((rank || parameters || named.as_program || has("# nccl-tests version")) && has_sizes()) finish_run();
        if (parameters) ranks_ = {};  // of a start that failed, if there are any
        // What stands behind the sizes of a run is about the next one, but for what the library says.
        bool const is_of_next = has_sizes() && !is_message;
        if (is_of_next && !named.collective.empty()) next_.collective = named.collective;
        if (!has_sizes() && !named.collective.empty() && (run_.collective.empty() || named.as_program))
            run_.collective = named.collective;
        read_settings(line, is_of_next ? next_ : run_);
        find_version(line);
        if (has("#wrong")) counts_wrong_ = true;
        if (rank) ranks_.add(line, words);
        if (auto const columns = nccl_tests_columns(words)) {
            head_ = *columns;
            has_head_ = true;
        }
    }

    void finish_run() {
        if (cut_line_ > 0 && (!has_sizes() || cut_why_ != too_few)) refuse(cut_line_, cut_why_);
        if (!has_sizes()) throw InputError("{}: has no line with a size and times", name_);
        if (ranks_.empty())
            throw InputError(
                "{}: has no list of ranks ('#  Rank  0 Group ...': keep the head of what nccl-tests prints)", name_);
        if (run_.collective.empty()) run_.collective = unsaid_;
        if (run_.collective.empty()) run_.collective = named_in(name_).collective;
        run_.ranks = ranks_.ranks();
        run_.hosts = ranks_.hosts();
        run_.device = ranks_.device();
        leave_out_or_check();
        if (cut_line_ > 0) ++run_.skipped["is cut off"];
        std::string const run_id = runs_.empty() ? name_ : fmt::format("{} run {}", name_, runs_.size() + 1);
        for (CollectiveRow& row : run_.rows)
            complete(row, run_id);
        std::string version = run_.library_version;
        runs_.push_back(std::move(run_));
        run_ = std::exchange(next_, {});
        run_.library_version = std::move(version);
        ranks_ = {};
        head_ = {};
        has_head_ = false;
        columns_ = cut_line_ = 0;
        ratio_.reset();
    }

    /// What is of no collective between ranks is left out with its reason; what contradicts itself is an error.
    void leave_out_or_check() {
        std::string reason = ranks_.problem();
        if (reason.empty() && head_.cpu_time) reason = "has the processor's times (cputime: run it without -C)";
        if (reason.empty() && run_.aggregated)
            reason = "has the time of a share of several collectives launched at once (agg iters: run it without -m)";
        if (reason.empty() && run_.blocking)
            reason = "has the host's wait after each collective in its times (Blocking Enabled: run it without -z)";
        if (!reason.empty()) {
            if (!run_.rows.empty()) run_.skipped[reason] += run_.rows.size();
            run_.rows.clear();
            return;
        }
        if (run_.collective.empty())
            throw InputError(
                "{}: does not say which collective it is (the log or its name holds e.g. all_reduce_perf; import: "
                "--set "
                "collective=all_reduce)",
                name_);
        if (!ranks_.fills_hosts_evenly())
            throw InputError(
                "{}: {} ranks on {} hosts, more on one than on another (as many on each are expected: run "
                "it so, mpirun -N 8)",
                name_, run_.ranks, run_.hosts);
        check_bus_bandwidth();
    }

    void find_version(std::string_view line) {
        for (std::string_view const library : {"NCCL version ", "RCCL version ", "RCCL version :"})
            if (auto const at = line.find(library); at != std::string_view::npos)
                if (auto const words = words_of(line.substr(at + library.size()));
                    !words.empty() && words.front() != ":")
                    run_.library_version = words.front();
        constexpr std::string_view coded = "nccl-library=";
        if (auto const at = line.find(coded); at != std::string_view::npos)
            if (std::string const version = version_of_code(line.substr(at + coded.size())); !version.empty())
                run_.library_version = version;
    }

    [[noreturn]] void refuse(std::size_t number, std::string_view what) const {
        throw InputError("{}: line {}: {} (size, count, type, [operation, root,] time, algbw, busbw, errors expected)",
                         name_, number, what);
    }

    [[noreturn]] void refuse_size(std::vector<std::string_view> const& words, std::size_t number) const {
        refuse(number, fmt::format("'{}' is no size in bytes", words.front().substr(0, 40)));
    }

    /// The first line of sizes settles how many columns they have. False: it has too few even for one side.
    bool begin_sizes(std::size_t columns, std::size_t number) {
        if (columns < head_.least() && head_.sides == 2) {
            if (columns < head_.least() - head_.side) return false;
            head_.sides = 1;  // the other side was not measured
        }
        if (columns < head_.least()) return false;
        if (columns > head_.most()) refuse(number, "has more columns than its head");
        columns_ = columns;
        return true;
    }

    /// A line that a message of the library was printed into: the size counts if all its times stand before that.
    void read_size_before_message(std::vector<std::string_view> words, std::size_t number) {
        if (!has_sizes() || words.size() < columns_) {
            ++run_.skipped[std::string(broken)];
            return;
        }
        words.resize(columns_);
        read_size(std::move(words), number);
    }

    /// A line that something else may have been printed into, or the end of the run: what follows tells.
    void hold(std::size_t number, std::string_view why) {
        cut_line_ = number;
        cut_why_ = why;
    }

    /// size count type [redop] [root] time algbw busbw #wrong ... time algbw busbw #wrong ...
    void read_size(std::vector<std::string_view> words, std::size_t number) {
        if (std::size_t const most = has_sizes() ? columns_ : head_.most(); head_.timestamp && words.size() > most)
            words.resize(most);  // a time that was cut off
        if (cut_line_ > 0) refuse(cut_line_, cut_why_);
        double size = 0;
        static_cast<void>(is_number(words.front(), size));
        if (!(size >= 0) || size > 1e18 || size != std::floor(size)) refuse(number, "the size is not a whole number");
        if (has_sizes() && words.size() < columns_) return hold(number, too_few);
        if (has_sizes() && words.size() > columns_) return hold(number, "has more columns than the lines before it");
        if (!has_sizes() && !begin_sizes(words.size(), number)) return hold(number, too_few);
        if (size == 0) {  // less than one element for each rank
            ++run_.skipped["is of no bytes"];
            return;
        }
        CollectiveRow row;
        row.bytes = size * units::B;
        bool wrong = false;
        bool contradicts = false;
        for (std::size_t g = 0; g < head_.sides; ++g) {
            double time = 0;
            std::string_view const* const cells = words.data() + words.size() - head_.side * (head_.sides - g);
            if (cells[0] == "N/A") continue;
            if (!is_number(cells[0], time)) refuse(number, "a time is not a number");
            if (!std::isfinite(time) || time < 0) refuse(number, "a time is negative or not finite");
            if (time > 0) {
                row.add_time(time * units::us);
                (g == 0 ? row.out_of_place : row.in_place) = time * units::us;
            }
            double errors = 0;  // printed as %g: many are "1.05e+06"
            wrong = wrong || (counts_wrong_ && is_number(cells[3], errors) && errors > 0);
            double algorithm = 0;
            double bus = 0;
            if (is_number(cells[1], algorithm) && is_number(cells[2], bus) && algorithm >= 1)
                ratio_ = {bus / algorithm, number};
            // A hypercube's is of what is sent, not of the size; there is no model of it.
            contradicts = contradicts || (run_.collective != "hypercube" && contradicts_rate(time, algorithm, size));
        }
        if (wrong)
            ++run_.skipped["has wrong results (#wrong)"];
        else if (contradicts)
            ++run_.skipped["time and algbw contradict each other by more than 10 % (us and GB/s are expected)"];
        else
            run_.rows.push_back(std::move(row));
    }

    /// The columns say what was measured better than a name does.
    void check_bus_bandwidth() const {
        if (!ratio_) return;
        try {
            double const factor = bus_bandwidth_factor(collective_kind_of(run_.collective), run_.ranks);
            if (std::abs(ratio_->value / factor - 1) > 0.03)
                throw InputError(
                    "{}: line {}{}: busbw is {:.3g} times algbw, not {:.3g} as of {} over {} ranks (is it another "
                    "collective: give each a file of its own, named after it; is the list of ranks not whole, or was "
                    "nccl-tests built without MPI=1?)",
                    name_, ratio_->line, runs_.empty() ? "" : fmt::format(", run {}", runs_.size() + 1), ratio_->value,
                    factor, run_.collective, run_.ranks);
        } catch (RowSkip const&) {  // no model of it, and no factor
        }
    }

    void complete(CollectiveRow& row, std::string const& run_id) const {
        row.run_id = run_id;
        row.source = name_;
        row.library_version = run_.library_version;
        row.collective = run_.collective;
        row.nranks = run_.ranks;
        row.machine = {.gpu = run_.device,
                       .intra_link = run_.without_nvls ? "NVLS off" : "",
                       .inter_link = {},
                       .nodes = run_.hosts,
                       .gpus_per_node = run_.ranks / run_.hosts};
    }

    std::string name_;
    std::string unsaid_;  ///< the collective of runs that do not say it
    std::vector<NcclTestsLog> runs_;
    NcclTestsLog run_;   ///< the one that is being read
    NcclTestsLog next_;  ///< what is said of the one behind it before its head
    NcclTestsRanks ranks_;
    NcclTestsColumns head_;
    bool has_head_ = false;     ///< of its columns; else they are those of most versions
    std::size_t columns_ = 0;   ///< of its lines with a size; 0: there was none yet
    std::size_t cut_line_ = 0;  ///< a line with fewer or more
    std::string_view cut_why_ = too_few;
    bool counts_wrong_ = false;
    struct Ratio {
        double value = 0;
        std::size_t line = 0;
    };
    std::optional<Ratio> ratio_;  ///< of busbw to algbw, of the last line where both have digits
};

}  // namespace

std::string_view foreign_benchmark(std::string_view text) {
    auto const has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
    if (has("out-of-place") || has("# nThread")) return {};  // nccl-tests, perhaps among others
    if (has("# OSU ")) return "OSU micro-benchmarks (they time MPI, and do not say the ranks: run nccl-tests)";
    if (has("RDMA_Write BW Test") || has("RDMA_Read BW Test") || has("Send BW Test") || has("#bytes     #iterations"))
        return "perftest (one NIC and no collective: set the network's rate, --cluster NAME:inter_node_bandwidth='48 "
               "GB/s', or run nccl-tests)";
    if (has("nvbandwidth Version"))
        return "nvbandwidth (copies and no collective: set the links' rate, --cluster NAME:intra_node_bandwidth='390 "
               "GB/s', or run nccl-tests)";
    if (has("\"out_of_place\"") && has("\"bus_bw\""))
        return "the JSON of nccl-tests (-J: keep what it prints, which has the same figures)";
    return {};
}

std::vector<NcclTestsLog> read_nccl_tests_log(std::string_view coloured, std::string const& name,
                                              std::string const& unsaid) {
    if (auto const other = foreign_benchmark(coloured); !other.empty()) throw InputError("{}: is of {}", name, other);
    LogReader reader(name, unsaid);
    std::string const text = without_colours(coloured);
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        reader.read(std::string_view(text).substr(begin, end - begin), ++number,
                    end < text.size() ? LineEnd::newline : LineEnd::missing);
        begin = end + 1;
    }
    return reader.take();
}

}  // namespace sextant
