// llama-3.1-405b on h100-sxm (tp 1, weights bf16, cache bf16, engine vllm) does not fit: 817 GB of each ...
//
// memory of a GPU        needed 817 GB, usable 76.97 GB of 85.52 GB
// weights                811.7 GB
#include "cli/serve/misfit.hpp"

#include "cli/page/page.hpp"
#include "cli/serve/options.hpp"
#include "cli/view/table.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::vector<std::pair<char const*, Bytes>> parts_of(ServingMisfit const& m) {
    std::vector<std::pair<char const*, Bytes>> parts{
        {"weights", m.memory.weights}, {"activations", m.memory.activations}, {"overhead", m.memory.overhead}};
    if (m.memory.state_pool > Bytes{}) parts.emplace_back("states", m.memory.state_pool);
    if (m.adapters > Bytes{}) parts.emplace_back("adapters", m.adapters);
    parts.emplace_back("request_cache", m.cache);
    return parts;
}

Lines lines_of(ServingMisfit const& m) {
    Lines lines{{"memory of a GPU", fmt::format("needed {}, usable {} of {}", human(m.needed()), human(m.memory.usable),
                                                human(m.memory.capacity))}};
    for (auto const& [name, bytes] : parts_of(m))
        lines.emplace_back(name == std::string_view("request_cache") ? "cache of the requests" : name, human(bytes));
    for (std::string const& note : m.what.format_notes)
        lines.emplace_back("note", note);
    return lines;
}

Table table_of(MisfitCommand command, ServingMisfit const& m) {
    auto const digits = [](Bytes bytes) { return fmt::format("{:.0f}", bytes.base()); };
    Lines values{{"fits", "false"},
                 {"needed_bytes", digits(m.needed())},
                 {"usable_bytes", digits(m.memory.usable)},
                 {"capacity_bytes", digits(m.memory.capacity)}};
    for (auto const& [name, bytes] : parts_of(m))
        values.emplace_back(fmt::format("{}_bytes", name), digits(bytes));
    values.emplace_back("reason", m.sentence());
    if (command == MisfitCommand::simulate) {  // as its figures are
        Table table({{"quantity"}, {"value"}});
        for (auto const& [name, value] : values)
            table.add_row({name, value});
        return table;
    }
    std::vector<Column> columns;
    std::vector<std::string> row;
    for (auto const& [name, value] : values) {
        columns.push_back({name});
        row.push_back(value);
    }
    Table table(columns);
    table.add_row(row);
    return table;
}

std::string text_of(ServingMisfit const& m) { return wrapped(m.sentence()) + "\n" + aligned_pairs(lines_of(m)); }

std::string page_of(MisfitCommand command, ServingMisfit const& m) {
    Page page{.command = command == MisfitCommand::estimate ? "sextant serve estimate" : "sextant serve simulate",
              .title = fmt::format("{} on {}", named(m.what.model), m.what.cluster.name),
              .lines = {fmt::format("a replica of {} ({})", m.what.plan.accelerators(), serving_plan_text(m.what))},
              .verdict = m.sentence(),
              .tone = Tone::bad};
    page.blocks.emplace_back(PagePairs{"Memory", lines_of(m)});
    return html_page(page);
}

}  // namespace

std::string ServingMisfit::sentence() const {
    return fmt::format("{} on {} ({}) does not fit: {}", named(what.model), what.cluster.name, serving_plan_text(what),
                       reason);
}

int deliver_misfit(MisfitCommand command, ServingMisfit const& misfit, OutputOptions const& output,
                   CommandContext& context) {
    Format const format = output.format();
    switch (format) {
        case Format::json: deliver(output, context, misfit_json(command, misfit)); break;
        case Format::text: deliver(output, context, text_of(misfit)); break;
        case Format::html: deliver(output, context, page_of(command, misfit)); break;
        default: deliver(output, context, render(table_of(command, misfit), format)); break;
    }
    tell_beside(format, context, misfit.sentence() + "\n");
    for (std::string const& note : misfit.what.format_notes)
        tell_beside(format, context, fmt::format("note: {}\n", note));
    return exit_code::answer_is_no;
}

}  // namespace sextant::cli
