#include "cli/calibrate/framework_provenance.hpp"

#include "core/error.hpp"
#include "core/spec/framework_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sextant::cli {
namespace {

/// Where constants say that they were fitted: "..., 87 rows of llm-foundry, misc-repos".
constexpr std::string_view fitted_by = "sextant calibrate fit --train, ";
/// And that rows of another fit moved them beside others that they say more of.
constexpr std::string_view moved_by = "; then moved by ";
constexpr std::string_view between_sources = ", ";

/// Constants that a fit began with and did not move for want of rows, with the provenance they had.
void keep_provenance(FrameworkProfile& profile, FrameworkProfile const& known) {
    for (FrameworkTiming& timing : profile.timing) {
        FrameworkTiming const& before = timing_for(known, timing.generation, timing.precision);
        auto const keep = [&](auto const& fields) {
            for (auto const& field : fields) {
                (timing.*field.member).basis = (before.*field.member).basis;
                (timing.*field.member).source = (before.*field.member).source;
            }
        };
        keep(timing_numbers);
        keep(timing_times);
    }
}

}  // namespace

std::set<std::string> sources_of(FrameworkProfile const& profile) {
    std::set<std::string> out;
    auto const read_rows = [&](std::string_view text) {
        constexpr std::string_view before = " rows of ";
        std::size_t const at = text.find(before);
        if (at == std::string_view::npos) return;
        std::string_view rest = text.substr(at + before.size());
        for (std::size_t end = rest.find(between_sources); end != std::string_view::npos;
             end = rest.find(between_sources)) {
            out.emplace(rest.substr(0, end));
            rest.remove_prefix(end + between_sources.size());
        }
        out.emplace(rest);
    };
    auto const read = [&](std::string_view text) {
        std::size_t const moved = text.find(moved_by);
        if (text.starts_with(fitted_by)) read_rows(text.substr(0, moved));
        if (moved != std::string_view::npos) read_rows(text.substr(moved + moved_by.size()));
    };
    for (FrameworkTiming const& timing : profile.timing) {
        for (auto const& field : timing_numbers)
            read((timing.*field.member).source);
        for (auto const& field : timing_times)
            read((timing.*field.member).source);
    }
    return out;
}

void require_readable_sources(std::vector<StepMeasurement> const& rows) {
    for (StepMeasurement const& row : rows)
        for (std::string_view const mark : {between_sources, moved_by})
            if (row.source.find(mark) != std::string::npos)
                throw InputError(
                    "{}: source_id is '{}' (give it a name without '{}', which the profile puts between "
                    "sources and what they did)",
                    row.where, row.source, mark);
}

void add_steps(FrameworkProfile& profile, FrameworkProfile const& known,
               std::vector<StepMeasurement const*> const& rows, std::set<std::string> const& seen) {
    for (FrameworkTiming& timing : profile.timing) {
        FrameworkTiming const& before = timing_for(known, timing.generation, timing.precision);
        if (!timing.steps || before.generation != timing.generation || before.precision != timing.precision) continue;
        auto const again = std::count_if(rows.begin(), rows.end(), [&](StepMeasurement const* row) {
            return seen.contains(row->source) && &timing_for(profile, row->generation, row->precision) == &timing;
        });
        *timing.steps += before.steps.value_or(0) - std::min<std::int64_t>(again, before.steps.value_or(0));
    }
}

void add_provenance(FrameworkProfile& profile, FrameworkFit const& fit, FrameworkProfile const* known) {
    if (known != nullptr) keep_provenance(profile, *known);
    std::string sources;
    for (std::string const& source : fit.sources)
        sources.append(sources.empty() ? "" : between_sources).append(source);
    for (FrameworkTiming& timing : profile.timing)
        for (TimingConstant const& constant : fit.constants) {
            if (constant.generation != "*" && constant.generation != timing.generation) continue;
            if (constant.precision != "*" && timing.precision == "*") continue;
            auto const note = [&](auto const& fields) {
                for (auto const& field : fields) {
                    if (field.key != constant.key) continue;
                    auto& value = timing.*field.member;
                    bool const identified = constant.spread.has_value();
                    if (!identified && known != nullptr) {
                        auto const& before = timing_for(*known, timing.generation, timing.precision).*field.member;
                        constexpr double moved = 0.005;  // of the value
                        if (std::abs(value.value / before.value - 1) > moved &&
                            value.source.find(moved_by) == std::string::npos)
                            value.source += fmt::format("{}{} rows of {}", moved_by, fit.rows, sources);
                        continue;
                    }
                    value.basis = identified ? Basis::fitted : Basis::assumed;
                    value.source = identified
                                       ? fmt::format("{}{} rows of {}", fitted_by, fit.rows, sources)
                                       : fmt::format("expected of such frameworks; not identified by {} rows of {}",
                                                     fit.rows, sources);
                }
            };
            note(timing_numbers);
            note(timing_times);
        }
}

}  // namespace sextant::cli
