#include "cli/sweep/question.hpp"

#include "cli/sweep/grid.hpp"
#include "cli/sweep/profile_axis.hpp"
#include "cli/sweep/report_cells.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"
#include "core/toml.hpp"

#include <algorithm>
#include <array>

namespace sextant::cli {
namespace {

/// What the sweep itself decides.
constexpr std::array reserved{"format", "output", "threads", "help", "config", "write-config"};

bool is_reserved(std::string_view name) { return std::find(reserved.begin(), reserved.end(), name) != reserved.end(); }

AxisTarget option_target(CommandOption const& option, CommandOptions const& all) {
    std::string const name = option.names.front().substr(2);
    AxisTarget target{.kind = option.is_flag ? AxisTarget::Kind::flag : AxisTarget::Kind::option, .option = option};
    if (option.is_flag && all.find("no-" + name) != nullptr) target.negative = "--no-" + name;
    return target;
}

void check_flag_values(SweepAxis const& axis) {
    for (std::string const& value : axis.values)
        if (value != "true" && value != "false")
            throw InputError("--axis: {}: '{}' (it is a flag: true or false)", axis.name, value);
}

bool is_factor(std::string const& value) {
    return value.size() > 1 && value[0] == 'x' && cell_from_text(value.substr(1)).kind == SweepCell::Kind::number;
}

/// The axes that are options of the command; the others stay without a target.
std::vector<bool> resolve_options(SweepQuestion& question, CommandOptions const& options) {
    std::vector<bool> resolved(question.axes.size(), false);
    for (std::size_t i = 0; i < question.axes.size(); ++i) {
        SweepAxis const& axis = question.axes[i];
        CommandOption const* const option = options.find(axis.name);
        // "price=x1,x2" is not the option's value, but a factor on the profile's.
        if (option == nullptr || std::all_of(axis.values.begin(), axis.values.end(), is_factor)) continue;
        if (is_reserved(option->names.front().substr(2)))
            throw InputError("--axis: {}: cannot be varied (it is the sweep's own option)", axis.name);
        if (!places_of(*option, question.arguments).empty())
            throw InputError("--axis: {}: is given as {} too (one of both)", axis.name, option->names.front());
        if (option->is_flag) {
            check_flag_values(axis);
            auto const& given = question.arguments;
            for (std::string const& name : option->names)
                if (std::find(given.begin(), given.end(), name) != given.end())
                    throw InputError("--axis: {}: is given as {} too (one of both)", axis.name, name);
        }
        question.targets[i] = option_target(*option, options);
        resolved[i] = true;
    }
    return resolved;
}

void refuse_same_target(SweepQuestion const& question) {
    for (std::size_t i = 0; i < question.axes.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            AxisTarget const& a = question.targets[i];
            AxisTarget const& b = question.targets[j];
            if (a.option.names == b.option.names && a.key == b.key)
                throw InputError("--axis: {} and {} are the same", question.axes[j].name, question.axes[i].name);
        }
}

std::vector<std::string> split_columns(std::string const& text) {
    std::vector<std::string> columns;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find(',', begin), text.size());
        std::string column = text.substr(begin, end - begin);
        while (column.starts_with(' '))
            column.erase(0, 1);
        if (column.empty())
            throw InputError("--columns: '{}' has an empty entry (such as mfu,memory.peak_bytes)", text);
        if (std::any_of(column.begin(), column.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
            throw InputError("--columns: a name has a control character");
        if (std::find(columns.begin(), columns.end(), column) != columns.end())
            throw InputError("--columns: '{}' is named twice", column);
        columns.push_back(std::move(column));
        begin = end + 1;
    }
    return columns;
}

bool is_axis(SweepQuestion const& question, std::string const& name) {
    return std::any_of(question.axes.begin(), question.axes.end(),
                       [&](SweepAxis const& axis) { return axis.name == name; });
}

void choose_columns(SweepQuestion& question, SweepRequest const& request) {
    constexpr std::array taken{"point", "status", "reason"};
    if (request.columns.empty()) {
        question.columns = usual_columns(question.command);
        std::erase_if(question.columns, [&](std::string const& name) { return is_axis(question, name); });
    } else {
        question.columns = split_columns(request.columns);
    }
    std::string const& metric = request.sensitivity;
    bool const known = std::find(question.columns.begin(), question.columns.end(), metric) != question.columns.end();
    if (!metric.empty() && !known) question.columns.push_back(metric);
    if (question.columns.empty())
        throw InputError("sweep: which values of '{}' are wanted? (--columns; --list-columns shows what there is)",
                         join(question.command, " "));
    for (std::string const& name : question.columns)
        if (is_axis(question, name) || std::find(taken.begin(), taken.end(), name) != taken.end())
            throw InputError("--columns: '{}' is a column already", name);
}

/// Whether the file says something of the swept command: [estimate], [serve.plan].
bool has_table(std::string const& file, std::vector<std::string> const& command) {
    if (file.empty()) return false;
    auto const entries = parse_toml(read_text_file(file), file);
    return std::any_of(entries.begin(), entries.end(),
                       [&](TomlEntry const& entry) { return entry.section == join(command, "."); });
}

void put_option(std::vector<std::string>& arguments, AxisTarget const& target, std::string const& value) {
    std::string const& name = target.option.names.front();
    if (target.kind == AxisTarget::Kind::option)
        arguments.push_back(name + "=" + value);
    else if (value == "true")
        arguments.push_back(name);
    else if (!target.negative.empty())
        arguments.push_back(target.negative);
}

}  // namespace

std::vector<std::string> SweepQuestion::arguments_at(std::int64_t point) const {
    std::vector<std::string> out = command;
    out.insert(out.end(), arguments.begin(), arguments.end());
    std::vector<std::size_t> const at = positions_at(axes, groups, point);
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (targets[i].kind != AxisTarget::Kind::profile) put_option(out, targets[i], axes[i].values[at[i]]);
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (targets[i].kind == AxisTarget::Kind::profile) put_change(out, targets[i], axes[i].values[at[i]]);
    return out;
}

SweepQuestion make_question(SweepRequest const& request) {
    SweepQuestion question;
    question.arguments = request.words;
    CommandOptions const options = options_of_command(question.arguments);
    question.command = options.words;
    refuse_unknown_options(options, question.arguments);
    if (has_table(request.config, question.command)) question.arguments.push_back("--config=" + request.config);
    question.always = {"--format=json"};
    CommandOption const* const threads = options.find("threads");
    if (threads != nullptr && places_of(*threads, question.arguments).empty())
        question.always.emplace_back("--threads=1");
    for (std::string const& text : request.axes)
        question.axes.push_back(parse_axis(text, "--axis"));
    if (question.axes.empty() && request.look == Look::at_all_points)
        throw InputError("sweep: nothing varies (--axis NAME=VALUES, such as --axis gpus=64..4096x2)");
    question.groups = axis_groups(question.axes, request.zips, "--zip");
    question.points = point_count(question.axes, question.groups);
    question.targets.resize(question.axes.size());
    std::vector<bool> const resolved = resolve_options(question, options);
    std::vector<std::string> first = question.arguments;
    for (std::size_t i = 0; i < question.axes.size(); ++i)
        if (resolved[i]) put_option(first, question.targets[i], question.axes[i].values.front());
    for (std::size_t i = 0; i < question.axes.size(); ++i)
        if (!resolved[i]) question.targets[i] = profile_target(question.axes[i].name, options, first);
    refuse_same_target(question);
    if (request.look == Look::at_all_points) choose_columns(question, request);
    question.prices = price_notes(question, options);
    static_cast<void>(question.arguments_at(0));  // a change that finds no place to stand is refused now
    return question;
}

}  // namespace sextant::cli
