#include "calibrate/import/nccl_tests_log.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

namespace sextant {
namespace {

/// nccl-tests' programs and the names of collectives.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> programs{{{"all_reduce", "all_reduce"},
                                                                                 {"all_gather", "all_gather"},
                                                                                 {"reduce_scatter", "reduce_scatter"},
                                                                                 {"alltoall", "alltoall"},
                                                                                 {"broadcast", "broadcast"},
                                                                                 {"sendrecv", "sendrecv"},
                                                                                 {"all-reduce", "all_reduce"},
                                                                                 {"all-gather", "all_gather"}}};

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> out;
    for (std::size_t begin = line.find_first_not_of(" \t"); begin != std::string_view::npos;) {
        std::size_t const end = std::min(line.find_first_of(" \t", begin), line.size());
        out.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(" \t", end);
    }
    return out;
}

template <class Number>
bool is_number(std::string_view word, Number& out) {
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc{} && end == word.data() + word.size();
}

/// Without what a launcher puts before a line: "[1,0]<stdout>:", "0: ", "node3: ".
std::string_view without_prefix(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.remove_suffix(1);
    if (auto const tag = line.find("<stdout>:"); tag != std::string_view::npos && tag < 20) line.remove_prefix(tag + 9);
    auto const colon = line.find(": ");
    auto const before = line.substr(0, std::min(colon, line.size()));
    if (colon != std::string_view::npos && colon < 40 && before.find_first_of(" #\t") == std::string_view::npos)
        line.remove_prefix(colon + 2);
    return line;
}

class LogReader {
public:
    explicit LogReader(std::string const& name) : name_(name) {}

    void read(std::string_view line, std::size_t number) {
        line = without_prefix(line);
        find_program(line);
        find_version(line);
        auto const words = words_of(line);
        if (words.empty()) return;
        if (words.front().starts_with('#')) {
            read_rank(line);
            return;
        }
        double size = 0;
        if (is_number(words.front(), size)) read_size(words, number);
    }

    NcclTestsLog take() {
        if (log_.collective.empty()) find_program(name_);
        if (log_.collective.empty())
            throw InputError("{}: does not say which collective it is (the log or its name holds e.g. all_reduce_perf)",
                             name_);
        if (log_.rows.empty()) throw InputError("{}: has no line with a size and times", name_);
        if (log_.ranks == 0) throw InputError("{}: has no list of ranks ('#  Rank  0 Group ...')", name_);
        log_.hosts = static_cast<std::int64_t>(hosts_.size());
        if (log_.ranks % log_.hosts != 0)
            throw InputError("{}: {} ranks on {} hosts (as many on each are expected)", name_, log_.ranks, log_.hosts);
        for (CollectiveRow& row : log_.rows)
            complete(row);
        return std::move(log_);
    }

private:
    void find_program(std::string_view line) {
        if (!log_.collective.empty()) return;
        for (auto const& [program, collective] : programs)
            if (line.find(std::string(program)) != std::string_view::npos) log_.collective = collective;
    }

    void find_version(std::string_view line) {
        for (std::string_view const library : {"NCCL version ", "RCCL version "})
            if (auto const at = line.find(library); at != std::string_view::npos)
                if (auto const words = words_of(line.substr(at + library.size())); !words.empty())
                    log_.library_version = words.front();
    }

    /// "#  Rank  3 Group  0 Pid  123 on  node7 device  3 [0x9d] NVIDIA H100 80GB HBM3"
    void read_rank(std::string_view line) {
        auto const words = words_of(line);
        auto const rank = std::find(words.begin(), words.end(), "Rank");
        auto const on = std::find(words.begin(), words.end(), "on");
        if (rank == words.end() || on == words.end() || on + 1 == words.end()) return;
        ++log_.ranks;
        hosts_.insert(std::string(*(on + 1)));
        if (auto const bracket = line.find("] "); bracket != std::string_view::npos && log_.device.empty())
            log_.device = std::string(line.substr(line.find_first_not_of(' ', bracket + 1)));
    }

    [[noreturn]] void refuse(std::size_t number, std::string_view what) const {
        throw InputError("{}: line {}: {} (size, count, type, [operation, root,] time, algbw, busbw, errors expected)",
                         name_, number, what);
    }

    /// size count type [redop] [root] time algbw busbw #wrong time algbw busbw #wrong
    void read_size(std::vector<std::string_view> const& words, std::size_t number) {
        double size = 0;
        static_cast<void>(is_number(words.front(), size));
        if (!(size >= 0) || size > 1e18 || size != std::floor(size)) refuse(number, "the size is not a whole number");
        if (words.size() < 8) refuse(number, "has too few columns");
        // What follows the type is text (none, sum) and the root; the times are the last two groups of four.
        std::size_t const groups = words.size() >= 11 ? 2 : 1;
        std::size_t const first = words.size() - 4 * groups;
        if (size == 0) return;
        CollectiveRow row;
        row.bytes = size * units::B;
        for (std::size_t g = 0; g < groups; ++g) {
            double time = 0;
            if (words[first + 4 * g] == "N/A") continue;
            if (!is_number(words[first + 4 * g], time)) refuse(number, "a time is not a number");
            if (!std::isfinite(time) || time < 0) refuse(number, "a time is negative or not finite");
            if (time > 0) row.add_time(time * units::us);
        }
        log_.rows.push_back(std::move(row));
    }

    void complete(CollectiveRow& row) const {
        row.run_id = name_;
        row.source = name_;
        row.library_version = log_.library_version;
        row.collective = log_.collective;
        row.nranks = log_.ranks;
        row.machine = {.gpu = log_.device,
                       .intra_link = {},
                       .inter_link = {},
                       .nodes = log_.hosts,
                       .gpus_per_node = log_.ranks / log_.hosts};
    }

    std::string name_;
    NcclTestsLog log_;
    std::set<std::string> hosts_;
};

}  // namespace

NcclTestsLog read_nccl_tests_log(std::string_view text, std::string const& name) {
    LogReader reader(name);
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        reader.read(text.substr(begin, end - begin), ++number);
        begin = end + 1;
    }
    return reader.take();
}

}  // namespace sextant
