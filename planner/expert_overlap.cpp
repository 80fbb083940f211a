#include "planner/expert_overlap.hpp"

namespace sextant {
namespace {

bool is_wide(Precision precision) { return precision == Precision::fp32 || precision == Precision::tf32; }

}  // namespace

bool can_overlap_experts(ParallelPlan const& p) {
    return p.ep > 1 && (p.pp == 1 || p.vpp > 1) && !is_wide(p.precision) && p.recompute != Recompute::full;
}

std::vector<std::string> missing_for_expert_overlap(ParallelPlan const& p) {
    std::vector<std::string> missing;
    if (p.ep == 1) missing.emplace_back("--ep 2 or more");
    if (p.pp > 1 && p.vpp == 1) missing.emplace_back("--vpp 2 or more");
    if (is_wide(p.precision)) missing.emplace_back("--precision bf16");
    if (p.recompute == Recompute::full) missing.emplace_back("--recompute none or selective");
    return missing;
}

}  // namespace sextant
