#include "cost_models/collective_row.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

std::vector<std::string_view> collective_columns() {
    return {"run_id",        "source_ref",    "gpu",          "nodes",        "gpus_per_node", "nranks",
            "intra_link",    "inter_link",    "nccl_version", "collective",   "size_bytes",    "time_us_oop",
            "algbw_gbs_oop", "busbw_gbs_oop", "time_us_ip",   "algbw_gbs_ip", "busbw_gbs_ip"};
}

CollectiveKind collective_kind_of(std::string const& name) {
    for (CollectiveKind const kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
          CollectiveKind::all_to_all, CollectiveKind::broadcast, CollectiveKind::send_receive})
        if (name == name_of(kind)) return kind;
    throw RowSkip(fmt::format("no model of the collective '{}'", name.substr(0, 40)));
}

void CollectiveRow::add_time(Seconds time) {
    if (measured) slower = std::max({time, *measured, slower.value_or(time)});
    measured = std::min(time, measured.value_or(time));
}

CollectiveRow collective_row(RowCells const& row) {
    CollectiveRow out;
    // Numbers first: a cell that is none is a fault of the file, whatever else the row lacks.
    auto const nodes = row.count("nodes");
    auto const per_node = row.count("gpus_per_node");
    auto const nranks = row.count("nranks");
    auto const size = row.count("size_bytes");
    for (char const* column :
         {"time_us_oop", "algbw_gbs_oop", "busbw_gbs_oop", "time_us_ip", "algbw_gbs_ip", "busbw_gbs_ip"})
        static_cast<void>(row.number(column));
    out.run_id = row.text("run_id");
    out.source = row.text("source_ref");
    out.library_version = row.text("nccl_version");
    out.machine = {.gpu = row.stated("gpu"),
                   .intra_link = row.text("intra_link"),
                   .inter_link = row.text("inter_link"),
                   .nodes = need(nodes, "nodes"),
                   .gpus_per_node = need(per_node, "gpus_per_node")};
    out.nranks = need(nranks, "nranks");
    if (out.nranks != out.machine.nodes * out.machine.gpus_per_node)
        throw RowSkip("nranks is not nodes times gpus_per_node");
    if (out.nranks == 1) throw RowSkip("one rank has nothing to send");
    out.collective = row.stated("collective");
    out.bytes = static_cast<double>(need(size, "size_bytes")) * units::B;
    for (Seconds const time : measured_times(row, out.bytes, collective_kind_of(out.collective), out.nranks))
        out.add_time(time);
    return out;
}

}  // namespace sextant
