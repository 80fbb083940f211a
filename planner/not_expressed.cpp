#include "planner/not_expressed.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/framework_rules.hpp"

#include <fmt/format.h>

#include <array>

namespace sextant {
namespace {

/// Of the fields that exporters note, those that a search chooses. The others are the same for all its plans.
constexpr std::array searched_fields{std::string_view("dp"),
                                     std::string_view("tp"),
                                     std::string_view("pp"),
                                     std::string_view("cp"),
                                     std::string_view("ep"),
                                     std::string_view("expert_tp"),
                                     std::string_view("vpp"),
                                     std::string_view("micro_batch"),
                                     std::string_view("schedule"),
                                     std::string_view("stage_layers"),
                                     std::string_view("zero"),
                                     std::string_view("shard_group"),
                                     std::string_view("recompute"),
                                     std::string_view("recompute_layers"),
                                     std::string_view("offload"),
                                     std::string_view("recompute_modules"),
                                     std::string_view("cp_mode"),
                                     std::string_view("kept_activations"),
                                     std::string_view("global_batch"),
                                     std::string_view("sequence_parallel"),
                                     std::string_view("moe_dispatcher")};

}  // namespace

std::vector<std::string> not_expressed(ModelSpec const& model, ClusterSpec const& cluster,
                                       FrameworkProfile const& framework, Workload const& workload,
                                       ParallelPlan const& plan) {
    std::string_view const format = export_format(launcher_of(framework));
    if (format.empty()) return {};
    std::vector<NotExpressed> notes;
    try {
        notes = find_exporter(format, "plan").write(make_launch_plan(model, cluster, workload, plan, {})).not_expressed;
    } catch (InputError const&) {
        return {};  // no files are written for such models
    }
    std::vector<std::string> out;
    for (NotExpressed const& note : notes)
        if (is_one_of(searched_fields, note.field)) out.push_back(fmt::format("{}: {}", note.field, note.message));
    return out;
}

}  // namespace sextant
