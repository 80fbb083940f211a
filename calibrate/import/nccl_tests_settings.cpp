#include "calibrate/import/nccl_tests_settings.hpp"

#include "calibrate/import/log_line.hpp"
#include "cost_models/link_words.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// What the environment variable is set to, as NCCL says it ("NCCL_ALGO set by environment to Ring.") or as a shell
/// does
/// ("NCCL_ALGO=Ring"); empty where the line does neither.
std::string_view setting_in(std::string_view line, std::string_view variable) {
    auto const at = line.find(variable);
    if (at == std::string_view::npos) return {};
    std::string_view rest = line.substr(at + variable.size());
    for (std::string_view const sets : {" set by environment to ", "="})
        if (rest.starts_with(sets)) {
            rest.remove_prefix(sets.size());
            rest.remove_prefix(std::min(rest.find_first_not_of("\"'"), rest.size()));
            rest = rest.substr(0, rest.find_first_of(" \t\r\"'"));
            return rest.ends_with('.') ? rest.substr(0, rest.size() - 1) : rest;
        }
    return {};
}

}  // namespace

void read_settings(std::string_view line, NcclTestsLog& run) {
    if (auto const value = setting_in(line, "NCCL_NVLS_ENABLE"); !value.empty()) run.without_nvls = value == "0";
    if (auto const value = setting_in(line, "NCCL_ALGO"); !value.empty() && leaves_out_nvls(value))
        run.without_nvls = true;
    if (line.find("# Blocking Enabled") != std::string_view::npos) run.blocking = true;
    constexpr std::string_view together = "agg iters: ";
    if (auto const at = line.find(together); at != std::string_view::npos) {
        int count = 0;
        std::string_view const rest = line.substr(at + together.size());
        run.aggregated = is_number(rest.substr(0, rest.find_first_not_of("0123456789")), count) && count > 1;
    }
}

}  // namespace sextant
