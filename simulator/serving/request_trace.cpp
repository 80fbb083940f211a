#include "simulator/serving/request_trace.hpp"

#include "core/csv_stream.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace sextant {
namespace {

constexpr std::array known_columns{"arrival_s",     "prompt", "output",   "prefix_id",
                                   "prefix_tokens", "tenant", "priority", "adapter"};

/// One row and the table's names for it.
struct Row {
    CsvTable const& table;
    CsvRecord const* record = nullptr;

    [[nodiscard]] std::string where(std::string_view column) const {
        return fmt::format("{}, line {}, {}", table.name, record->line, column);
    }
    [[nodiscard]] std::string const& cell(std::size_t column) const { return record->cells[column]; }
    [[nodiscard]] double number(std::size_t column) const {
        std::string const& text = cell(column);
        double value = 0;
        auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
            throw InputError("{}: '{}' is no number (a finite one is expected, such as 12 or 0.5)",
                             where(table.header[column]), text);
        return value;
    }
    [[nodiscard]] std::int32_t whole(std::size_t column, double least, double most) const {
        double const value = number(column);
        if (value != std::floor(value) || value < least || value > most)
            throw InputError("{}: {} (a whole number from {:g} to {:g})", where(table.header[column]), cell(column),
                             least, most);
        return static_cast<std::int32_t>(value);
    }
};

/// Our name of a column that other traces have: Azure's TIMESTAMP, ContextTokens and GeneratedTokens, Mooncake's
/// timestamp, input_length and output_length, and the like; empty where none comes to mind.
std::string our_name(std::string const& name) {
    std::string const letters = letters_and_digits(name);
    auto const has = [&](std::string_view word) { return letters.find(word) != std::string::npos; };
    if (has("timestamp") || has("arriv") || letters == "time") return "arrival_s";
    if (has("input") || has("prompt") || has("context")) return "prompt";
    if (has("output") || has("generated") || has("response") || has("completion")) return "output";
    return {};
}

void check_columns(CsvTable const& table) {
    std::vector<std::string> const known(known_columns.begin(), known_columns.end());
    for (std::string const& name : table.header) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        std::string const ours = our_name(name);
        bool const is_free = !ours.empty() && !table.find(ours);
        throw InputError("{}: unknown column '{}'{} (known: {})", table.name, name,
                         is_free ? fmt::format("; is it '{}'?{}", ours, ours == "arrival_s" ? " (in seconds)" : "")
                                 : did_you_mean(name, known),
                         join(known));
    }
}

/// Gives names numbers in order of appearance.
class Names {
public:
    std::int32_t number(std::string const& name) {
        auto const [place, added] = numbers_.try_emplace(name, static_cast<std::int32_t>(numbers_.size()));
        if (added) names_.push_back(name);
        return place->second;
    }
    [[nodiscard]] std::vector<std::string> const& names() const { return names_; }

private:
    std::unordered_map<std::string, std::int32_t> numbers_;
    std::vector<std::string> names_;
};

class PrefixColumns {
public:
    PrefixColumns() = default;
    explicit PrefixColumns(CsvTable const& table) : id_(table.find("prefix_id")), tokens_(table.find("prefix_tokens")) {
        if (id_.has_value() != tokens_.has_value())
            throw InputError("{}: prefix_id and prefix_tokens only make sense together", table.name);
    }
    [[nodiscard]] bool there() const { return id_.has_value(); }
    void read(Row const& in, ServingRequest& request) {
        if (!id_) return;
        if (in.cell(*id_).empty()) {
            if (!in.cell(*tokens_).empty() && in.number(*tokens_) != 0)
                throw InputError("{}: {} tokens of no prefix (prefix_id is empty)", in.where("prefix_tokens"),
                                 in.cell(*tokens_));
            return;
        }
        request.prefix = names_.number(in.cell(*id_));
        request.prefix_tokens = in.whole(*tokens_, 1, request.prompt);
        auto const number = static_cast<std::size_t>(request.prefix);
        if (number == lengths_.size()) lengths_.push_back(request.prefix_tokens);
        if (lengths_[number] != request.prefix_tokens)
            throw InputError("{}: {} tokens, but {} in an earlier row of prefix '{}'", in.where("prefix_tokens"),
                             request.prefix_tokens, lengths_[number], in.cell(*id_));
    }

private:
    std::optional<std::size_t> id_, tokens_;
    Names names_;
    std::vector<std::int32_t> lengths_;
};

}  // namespace

struct RequestTraceReader::State {
    std::int64_t longest = 0;
    std::string name{};
    std::vector<std::string> header{};
    std::vector<std::size_t> required{};
    std::optional<std::size_t> tenant{}, priority{}, adapter{};
    PrefixColumns prefixes{};
    Names tenants{}, adapters{};
    double before = 0;
    std::vector<ServingRequest> requests{};

    void begin(CsvTable const& table) {
        check_columns(table);
        name = table.name;
        header = table.header;
        required = table.require({"arrival_s", "prompt", "output"});
        tenant = table.find("tenant");
        priority = table.find("priority");
        adapter = table.find("adapter");
        prefixes = PrefixColumns(table);
        if (!tenant) tenants.number("");
    }

    Seconds arrival(Row const& in) {
        // 2026-01-02T10:00:00, 2026-01-02 10:00:00.5 and the like.
        std::string const& text = in.cell(required[0]);
        if (text.find(':') != std::string::npos || text.find('-', 1) < text.find_first_of("eE"))
            throw InputError("{}: '{}' is a date (seconds are wanted, from any beginning on: 0, 0.25, ...)",
                             in.where("arrival_s"), text);
        double const arrival = in.number(required[0]);
        constexpr double year_3000 = 3.25e10;  // in seconds since 1970
        if (arrival > year_3000)
            throw InputError("{}: {} cannot be seconds (divide milliseconds since 1970 by 1e3, microseconds by 1e6)",
                             in.where("arrival_s"), text);
        if (arrival < 0) throw InputError("{}: {} is negative", in.where("arrival_s"), arrival);
        if (arrival < before)
            throw InputError("{}: {} is before the row above, {} (sort the trace by arrival)", in.where("arrival_s"),
                             arrival, before);
        before = arrival;
        return arrival * units::s;
    }

    void add(Row const& in) {
        ServingRequest request;
        request.arrival = arrival(in);
        request.prompt = in.whole(required[1], 1, 2e9);
        request.output = in.whole(required[2], 1, 2e9);
        if (std::int64_t const tokens = std::int64_t{request.prompt} + request.output; tokens > longest)
            throw InputError("{}: {} tokens of prompt and output are more than the {} that fit", in.where("prompt"),
                             tokens, longest);
        prefixes.read(in, request);
        if (tenant) request.tenant = tenants.number(in.cell(*tenant));
        if (priority && !in.cell(*priority).empty()) request.priority = in.whole(*priority, -1e9, 1e9);
        if (adapter && !in.cell(*adapter).empty()) request.adapter = adapters.number(in.cell(*adapter));
        requests.push_back(request);
    }
};

RequestTraceReader::RequestTraceReader(std::int64_t longest) : state_(std::make_unique<State>()) {
    state_->longest = longest;
}

RequestTraceReader::~RequestTraceReader() = default;

void RequestTraceReader::add(CsvTable const& part) {
    if (state_->header.empty()) state_->begin(part);
    assert(part.header == state_->header);
    Row row{part};
    for (CsvRecord const& record : part.records) {
        row.record = &record;
        state_->add(row);
    }
}

RequestTrace RequestTraceReader::take() {
    if (state_->requests.empty())
        throw InputError("{}: no requests, only a header (a line for each request is expected)", state_->name);
    RequestTrace trace;
    trace.requests = std::move(state_->requests);
    trace.tenants = state_->tenants.names();
    trace.has_prefixes = state_->prefixes.there();
    trace.has_priorities = state_->priority.has_value();
    trace.adapters = state_->adapters.names();
    return trace;
}

RequestTrace request_trace(CsvTable const& table, std::int64_t longest) {
    RequestTraceReader reader(longest);
    reader.add(table);
    return reader.take();
}

RequestTrace read_request_trace(std::string const& path, std::int64_t longest) {
    if (path.ends_with(".json") || path.ends_with(".jsonl"))
        throw InputError("{}: is JSON (a trace is CSV with the columns arrival_s, in seconds, prompt and output)",
                         path);
    constexpr std::size_t rows = 4096;
    CsvStream stream(path);
    RequestTraceReader reader(longest);
    for (bool more = true; more;) {
        CsvTable const part = stream.next(rows);
        reader.add(part);
        more = !part.records.empty();
    }
    return reader.take();
}

}  // namespace sextant
