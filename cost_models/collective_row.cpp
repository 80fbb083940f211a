#include "cost_models/collective_row.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

/// Times of both ways, out-of-place and in-place; else from the bandwidths.
std::vector<Seconds> measured_times(RowCells const& row, Bytes bytes, CollectiveKind kind, std::int64_t nranks) {
    constexpr BytesPerSecond gigabytes = units::GB / units::s;
    std::vector<Seconds> times;
    for (char const* column : {"time_us_oop", "time_us_ip"})
        if (auto const us = row.number(column); us && *us > 0) times.push_back(*us * units::us);
    auto const from_bandwidth = [&](char const* column, double factor) {
        auto const rate = row.number(column);
        if (rate && *rate > 0) times.push_back(bytes * factor / (*rate * gigabytes));
    };
    if (times.empty())
        for (char const* column : {"algbw_gbs_oop", "algbw_gbs_ip"})
            from_bandwidth(column, 1);
    if (times.empty())
        for (char const* column : {"busbw_gbs_oop", "busbw_gbs_ip"})
            from_bandwidth(column, bus_bandwidth_factor(kind, nranks));
    return times;
}

std::optional<double> above_zero(RowCells const& row, std::string const& column) {
    auto const value = row.number(column);
    return value && *value > 0 ? value : std::nullopt;
}

/// @throws RowSkip where a time and a bandwidth of the same way, or both bandwidths, say something else: one of them is
/// in another unit or of another column. They are printed with two decimals.
void require_agreement(RowCells const& row, Bytes bytes, CollectiveKind kind, std::int64_t nranks) {
    constexpr double most_apart = 0.1;
    constexpr double rounding = 0.01;  // GB/s
    double const factor = bus_bandwidth_factor(kind, nranks);
    auto const require = [&](std::string const& column, double said, std::string const& by) {
        if (auto const rate = above_zero(row, column); rate && std::abs(*rate - said) > most_apart * said + rounding)
            throw RowSkip(fmt::format(
                "{} and {} contradict each other by more than 10 % (us and 1e9 bytes/s are expected)", by, column));
    };
    for (std::string const way : {"oop", "ip"}) {
        std::string const time = "time_us_" + way, algorithm = "algbw_gbs_" + way, bus = "busbw_gbs_" + way;
        if (auto const us = above_zero(row, time)) {
            double const rate = bytes / (*us * units::us) / (units::GB / units::s);
            require(algorithm, rate, time);
            require(bus, rate * factor, time);
        } else if (auto const rate = above_zero(row, algorithm)) {
            require(bus, *rate * factor, algorithm);
        }
    }
}

/// Of nodes, accelerators of a node and ranks, each follows from the other two.
void complete_ranks(std::optional<std::int64_t>& nodes, std::optional<std::int64_t>& per_node,
                    std::optional<std::int64_t>& ranks) {
    constexpr std::int64_t most = 1000000;
    auto const quotient = [](std::int64_t all, std::int64_t part) {
        return part > 0 && all % part == 0 ? std::optional(all / part) : std::nullopt;
    };
    if (!ranks && nodes && per_node && *nodes < most && *per_node < most) ranks = *nodes * *per_node;
    if (!nodes && ranks && per_node) nodes = quotient(*ranks, *per_node);
    if (!per_node && ranks && nodes) per_node = quotient(*ranks, *nodes);
}

}  // namespace

std::vector<std::string_view> collective_columns() {
    return {"run_id",        "source_ref",    "gpu",          "nodes",        "gpus_per_node", "nranks",
            "intra_link",    "inter_link",    "nccl_version", "collective",   "size_bytes",    "time_us_oop",
            "algbw_gbs_oop", "busbw_gbs_oop", "time_us_ip",   "algbw_gbs_ip", "busbw_gbs_ip"};
}

CollectiveKind collective_kind_of(std::string const& name) {
    constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                               CollectiveKind::all_to_all, CollectiveKind::broadcast,  CollectiveKind::send_receive};
    for (CollectiveKind const kind : kinds)
        if (name == name_of(kind)) return kind;
    // "AllReduce", "all-gather", "Reduce Scatter", "all_to_all", "SendRecv".
    std::string const letters = letters_and_digits(name);
    for (CollectiveKind const kind : kinds)
        if (letters == letters_and_digits(name_of(kind))) return kind;
    if (is_reduce(name)) return CollectiveKind::broadcast;
    throw RowSkip(fmt::format("no model of the collective '{}'", name.substr(0, 40)));
}

bool is_reduce(std::string_view collective) { return letters_and_digits(collective) == "reduce"; }

void CollectiveRow::add_time(Seconds time) {
    if (measured) slower = std::max({time, *measured, slower.value_or(time)});
    measured = std::min(time, measured.value_or(time));
}

CollectiveRow collective_row(RowCells const& row, std::string_view device) {
    CollectiveRow out;
    // Numbers first: a cell that is none is said, whatever else the row lacks.
    auto nodes = row.count("nodes");
    auto per_node = row.count("gpus_per_node");
    auto nranks = row.count("nranks");
    complete_ranks(nodes, per_node, nranks);
    auto const size = row.bytes("size_bytes");
    for (char const* column :
         {"time_us_oop", "algbw_gbs_oop", "busbw_gbs_oop", "time_us_ip", "algbw_gbs_ip", "busbw_gbs_ip"})
        static_cast<void>(row.number(column));
    out.run_id = row.text("run_id");
    out.source = row.text("source_ref");
    out.library_version = row.text("nccl_version");
    auto const link = [&](std::string_view column) {
        std::string cell = row.text(column);
        return is_blank_cell(cell) ? std::string() : cell;
    };
    bool const is_named = device.empty() || !is_blank_cell(row.text("gpu"));
    out.machine = {.gpu = is_named ? row.stated("gpu") : std::string(device),
                   .intra_link = link("intra_link"),
                   .inter_link = link("inter_link"),
                   .nodes = need(nodes, "nodes"),
                   .gpus_per_node = need(per_node, "gpus_per_node")};
    out.nranks = need(nranks, "nranks");
    if (out.nranks != out.machine.nodes * out.machine.gpus_per_node)
        throw RowSkip("nranks is not nodes times gpus_per_node");
    if (out.nranks == 1) throw RowSkip("one rank has nothing to send");
    out.collective = row.stated("collective");
    out.bytes = static_cast<double>(need(size, "size_bytes")) * units::B;
    CollectiveKind const kind = collective_kind_of(out.collective);
    require_agreement(row, out.bytes, kind, out.nranks);
    for (Seconds const time : measured_times(row, out.bytes, kind, out.nranks))
        out.add_time(time);
    return out;
}

}  // namespace sextant
