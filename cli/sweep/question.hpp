#pragma once

#include "cli/sweep/option_list.hpp"
#include "cli/sweep/table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant::cli {

/// How the value of an axis is put to the command.
struct AxisTarget {
    enum class Kind : std::uint8_t {
        option,   ///< "--tp 4"
        flag,     ///< "--dropout" or "--no-dropout" (or nothing), by true and false
        profile,  ///< ":inter_node_bandwidth=x0.5" behind the name that an option has
    };
    Kind kind = Kind::option;
    CommandOption option;       ///< that it sets, or whose value it changes
    std::string key{};          ///< of the profile
    std::string negative{};     ///< the flag that says false, if there is one
    std::string usual_value{};  ///< of the option, where it is not given
};

/// A command put many times: what stays, what varies, and which values of its report are kept.
struct SweepQuestion {
    std::vector<std::string> command;    ///< "serve", "estimate"
    std::vector<std::string> arguments;  ///< that every point has
    std::vector<SweepAxis> axes;
    std::vector<std::vector<std::size_t>> groups;
    std::vector<AxisTarget> targets;  ///< of the axes
    std::vector<std::string> columns;
    std::vector<std::string> prices;  ///< `price_notes`
    std::int64_t points = 0;
    std::vector<std::string>
        always;  ///< arguments that a sweep adds: --format=json, and --threads=1 where there is one

    /// The command's arguments at a point, its name first, as one would type them.
    [[nodiscard]] std::vector<std::string> arguments_at(std::int64_t point) const;
};

enum class Look : std::uint8_t {
    at_all_points,
    at_first_report,  ///< only to see what there is: needs no axes and no columns
};

/// What `sextant sweep` was given besides where to write.
struct SweepRequest {
    std::vector<std::string> words;  ///< the command and its arguments
    std::vector<std::string> axes;
    std::vector<std::string> zips;
    std::string config;       ///< a file of --config, whose table of the command counts for every point
    std::string columns;      ///< comma-separated; empty: the usual ones of the command
    std::string sensitivity;  ///< a column more, if it is not among them
    Look look = Look::at_all_points;
};

/// Finds the command, resolves every axis (an option or flag of the command, else a value of the cluster, framework or
/// engine, else a field of the model) and the columns.
/// @throws InputError: what `options_of_command`, `parse_axis` and `axis_groups` throw; an axis that is nothing (with
/// the nearest names), that two things are called, or that is also given as an argument.
SweepQuestion make_question(SweepRequest const& request);

/// Columns of a command unless asked for otherwise; empty for a command that has none.
std::vector<std::string> usual_columns(std::vector<std::string> const& command);

/// Whose prices the columns of dollars stand on and of when, a line per cluster; nothing without such columns.
std::vector<std::string> price_notes(SweepQuestion const& question, CommandOptions const& options);

/// "estimate --model llama-3.1-70b": as one would type it, in quotes where a shell needs them.
std::string shell_text(std::vector<std::string> const& words);

/// Sixteen hex digits of everything that a row depends on: command, arguments, the text of files among them, axes,
/// columns, version of the program.
std::string digest_of(SweepQuestion const& question);

}  // namespace sextant::cli
