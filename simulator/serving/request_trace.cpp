#include "simulator/serving/request_trace.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace sextant {
namespace {

constexpr std::array known_columns{"arrival_s",     "prompt", "output",   "prefix_id",
                                   "prefix_tokens", "tenant", "priority", "adapter"};

struct Reader {
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
            throw InputError("{}: '{}' is no number", where(table.header[column]), text);
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

void check_columns(CsvTable const& table) {
    std::vector<std::string> const known(known_columns.begin(), known_columns.end());
    for (std::string const& name : table.header)
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw InputError("{}: unknown column '{}'{} (known: {})", table.name, name, did_you_mean(name, known),
                             join(known));
    if (table.records.empty()) throw InputError("{}: no requests (only a header)", table.name);
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
    explicit PrefixColumns(CsvTable const& table) : id_(table.find("prefix_id")), tokens_(table.find("prefix_tokens")) {
        if (id_.has_value() != tokens_.has_value())
            throw InputError("{}: prefix_id and prefix_tokens only make sense together", table.name);
    }
    [[nodiscard]] bool there() const { return id_.has_value(); }
    void read(Reader const& in, ServingRequest& request) {
        if (!id_ || in.cell(*id_).empty()) return;
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

RequestTrace request_trace(CsvTable const& table, std::int64_t longest) {
    check_columns(table);
    auto const required = table.require({"arrival_s", "prompt", "output"});
    auto const tenant = table.find("tenant");
    auto const priority = table.find("priority");
    auto const adapter = table.find("adapter");
    Names adapters;
    PrefixColumns prefixes(table);
    Names tenants;
    if (!tenant) tenants.number("");
    RequestTrace trace;
    trace.has_prefixes = prefixes.there();
    trace.has_priorities = priority.has_value();
    trace.requests.reserve(table.records.size());
    Reader in{table};
    double before = 0;
    for (CsvRecord const& record : table.records) {
        in.record = &record;
        ServingRequest request;
        double const arrival = in.number(required[0]);
        if (arrival < 0) throw InputError("{}: {} is negative", in.where("arrival_s"), arrival);
        if (arrival < before)
            throw InputError("{}: {} is before the row above, {} (sort the trace by arrival)", in.where("arrival_s"),
                             arrival, before);
        before = arrival;
        request.arrival = arrival * units::s;
        request.prompt = in.whole(required[1], 1, 2e9);
        request.output = in.whole(required[2], 1, 2e9);
        if (std::int64_t const tokens = std::int64_t{request.prompt} + request.output; tokens > longest)
            throw InputError("{}: {} tokens of prompt and output are more than the {} that fit", in.where("prompt"),
                             tokens, longest);
        prefixes.read(in, request);
        if (tenant) request.tenant = tenants.number(in.cell(*tenant));
        if (priority && !in.cell(*priority).empty()) request.priority = in.whole(*priority, -1e9, 1e9);
        if (adapter && !in.cell(*adapter).empty()) request.adapter = adapters.number(in.cell(*adapter));
        trace.requests.push_back(request);
    }
    trace.tenants = tenants.names();
    trace.adapters = adapters.names();
    return trace;
}

}  // namespace sextant
