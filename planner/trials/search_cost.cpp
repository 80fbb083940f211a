#include "planner/trials/search_simulation.hpp"

#include "core/error.hpp"
#include "core/spec/named_values.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr Named<SearchMethod> methods[] = {
    {SearchMethod::random, "random"},       {SearchMethod::grid, "grid"}, {SearchMethod::successive_halving, "sha"},
    {SearchMethod::hyperband, "hyperband"}, {SearchMethod::asha, "asha"}, {SearchMethod::pbt, "pbt"}};

/// Every trial to the end.
Bracket without_stopping(std::int64_t trials, double full) {
    Bracket bracket;
    bracket.rungs = {{trials, full, full}};
    return bracket;
}

/// Every member of a population to the end, in pieces between two exchanges.
Bracket population(std::int64_t trials, double least, double full) {
    Bracket bracket;
    double before = 0;
    while (before < full * (1 - 1e-9)) {
        double const next = before + least >= full * (1 - 1e-9) ? full : before + least;
        bracket.rungs.push_back({trials, next, next - before});
        before = next;
    }
    bracket.early = static_cast<int>(bracket.rungs.size()) - 1;
    return bracket;
}

double pieces_of(Bracket const& bracket) {
    double pieces = 0;
    for (Rung const& rung : bracket.rungs)
        pieces += static_cast<double>(rung.trials);
    return pieces;
}

}  // namespace

std::string_view name_of(SearchMethod method) { return name_in<SearchMethod>(methods, method); }

SearchMethod search_method_from(std::string_view name, std::string_view where) {
    return value_in<SearchMethod>(methods, name, where, "way to search");
}

SearchCost search_cost(SearchPlan const& plan) {
    constexpr double most_pieces = 1e4;
    Bracket const checked = successive_halving(plan.trials, plan.least, plan.eta, plan.full);
    SearchCost cost;
    switch (plan.method) {
        case SearchMethod::random:
        case SearchMethod::grid: cost.brackets = {without_stopping(plan.trials, plan.full)}; break;
        case SearchMethod::successive_halving:
        case SearchMethod::asha: cost.brackets = {checked}; break;
        case SearchMethod::hyperband: cost.brackets = hyperband(plan.least, plan.eta, plan.full); break;
        case SearchMethod::pbt:
            if (plan.full / plan.least > most_pieces)
                throw InputError("shortest length: {} of {} units are more than {:g} exchanges", plan.least, plan.full,
                                 most_pieces);
            cost.brackets = {population(plan.trials, plan.least, plan.full)};
            break;
    }
    // A population always goes on from its checkpoints.
    bool const resumed = plan.resume == SearchPlan::Resume::from_checkpoint || plan.method == SearchMethod::pbt;
    for (Bracket const& bracket : cost.brackets) {
        cost.units += resumed ? bracket.units_resumed() : bracket.units();
        cost.started += bracket.started();
        if (bracket.rungs.back().units >= plan.full) cost.finished += bracket.finished();
        cost.pieces += pieces_of(bracket);
        double longest = 0;
        for (Rung const& rung : bracket.rungs)
            longest += resumed ? rung.new_units : rung.units;
        cost.critical_units = std::max(cost.critical_units, longest);
    }
    cost.worst_units = cost.units;
    cost.worst_pieces = cost.pieces;
    if (plan.method == SearchMethod::asha) {
        Bracket const worst = asha_worst_case(plan.trials, plan.least, plan.eta, plan.full);
        cost.worst_units = resumed ? worst.units_resumed() : worst.units();
        cost.worst_pieces = pieces_of(worst);
    }
    return cost;
}

}  // namespace sextant
