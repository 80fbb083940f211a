#include "planner/importers/read_values.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sextant {

std::int64_t whole_number(std::string const& value, std::string_view where, std::string_view name, std::int64_t least,
                          std::int64_t most) {
    std::int64_t number = 0;
    auto const [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || stop != value.data() + value.size())
        throw InputError("{}: {}: '{}' is not a whole number", where, name, value);
    if (number < least || number > most)
        throw InputError("{}: {}: {} is out of range ({} to {})", where, name, number, least, most);
    return number;
}

void note_values_left(ForeignPlan& out, std::span<std::string const> not_asked, std::span<std::string const> missing,
                      std::span<std::string_view const> harmless) {
    for (std::string const& name : not_asked) {
        bool const known = std::any_of(harmless.begin(), harmless.end(),
                                       [&](std::string_view begin) { return name.starts_with(begin); });
        if (known)
            out.ignored.push_back(name);
        else
            out.warnings.push_back(name + ": not known here, so counted as without effect" +
                                   did_you_mean(name, missing));
    }
}

void offload_by_fsdp(ForeignPlan& out, std::string_view key) {
    ParallelPlan& p = out.plan;
    p.offload = Offload::parameters;
    if (offload_suits_sharding(p)) return;
    p.offload = without_parameters(p.offload);
    out.warnings.push_back(
        fmt::format("{}: weights and gradients are counted on the accelerator, the optimizer in the host", key));
}

}  // namespace sextant
