// What a report of `rl` says beside its tables: dollars, where asynchrony stops paying, what it assumes.
#include "cli/rl/view.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hourly_price.hpp"
#include "planner/left_out.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>

namespace sextant::cli {

std::optional<double> usd_per_step(RlQuestion const& question, RlStep const& step) {
    if (!question.usd_per_hour) return std::nullopt;
    return *question.usd_per_hour * static_cast<double>(question.accelerators) * (step.step / units::s) / 3600;
}

std::optional<double> usd_per_thousand_responses(RlQuestion const& question, RlStep const& step) {
    auto const usd = usd_per_step(question, step);
    if (!usd) return std::nullopt;
    return *usd / (static_cast<double>(question.responses()) * step.worth) * 1000;
}

std::optional<double> break_even_penalty(RlStep const& fast, RlStep const& slow) {
    double const gain = fast.responses_per_s / slow.responses_per_s;
    if (!(gain > 1) || !(fast.mean_age() > 0)) return std::nullopt;
    return (1 - 1 / gain) / fast.mean_age();
}

std::vector<std::string> rl_assumptions(RlReport const& report) {
    RlQuestion const& q = report.question;
    std::vector<std::string> out;
    if (std::string remark = left_out_remark(q.policy); !remark.empty()) out.push_back(std::move(remark));
    if (auto const price = hourly_price(q.machine.cluster)) out.push_back(price_assumption(*price));
    if (q.lengths.variation > 0)
        out.push_back(
            fmt::format("lengths of responses: {}, variation {:.2g}; lengths of one prompt's responses do not "
                        "depend on each other",
                        name_of(q.lengths.kind), q.lengths.variation));
    out.push_back(fmt::format("an engine decodes {} responses at a time at most",
                              human_count(static_cast<double>(q.rollout.max_batch))));
    out.emplace_back("a response is admitted when the cache holds it to its end; nothing is preempted");
    out.push_back(fmt::format(
        "training on packed sequences of {} tokens, the mean length to the nearest 16, attention by the squares "
        "of the lengths; a microbatch holds the longest sequence; scores with the microbatches of training",
        update_workload(q).sequence));
    if (!q.reward)
        out.push_back(fmt::format("rewards by rules take {} a step, on machines of their own", human(q.reward_time)));
    if (q.algorithm == RlAlgorithm::ppo || q.reward)
        out.emplace_back(
            "critic and reward model have one output in place of the vocabulary, and the best plan of their own, that "
            "of "
            "the reward model for forward passes");
    if (q.machine.constraints.base.adapters.on())
        out.emplace_back(
            "adapters: engines get the whole model with the adapters added to its weights, in two bytes each; without "
            "them the policy is its own reference; critic and reward model have adapters of the same kind");
    out.emplace_back("weights go from device to device, every byte once; gather and broadcast one after the other");
    out.emplace_back(
        "weights that wait in host memory, and state that is offloaded, move at the host link's full rate");
    if (report.answer.best(RlMode::asynchronous) != nullptr) {
        out.push_back(
            fmt::format("a response loses {:g} of its worth per update that it is behind", q.staleness_penalty));
        out.emplace_back("responses under way when weights change go on with the cache they have");
    }
    RlOverheads const& o = q.overheads;
    if (o.log_error > 0) {
        out.push_back(fmt::format(
            "overheads fitted to NeMo RL 0.3: generation x {:.3g}, updates x {:.3g}, scores x {:.3g} of the kernels' "
            "time; controller {} a step, new weights {} and {:.3g} s a GB of the model",
            o.generation, o.training_of(q.policy), o.scoring_of(q.policy), human(o.controller), human(o.sync),
            o.sync_per_byte.base() * 1e9));
        out.push_back(
            fmt::format("the 80 % range: steps of NeMo RL 0.4, not used in the fit, were off by {:.0f} % (one "
                        "deviation of the logarithm)",
                        100 * o.log_error));
    } else {
        out.emplace_back("kernels alone, so a lower bound: published steps took 1.4 to 3.2 times as long (docs/rl.md)");
    }
    if (RlStep const* const fast = report.answer.best(RlMode::asynchronous); fast != nullptr)
        out.push_back(
            fast->followed < fast->replicas
                ? fmt::format("{} of the {} asynchronous engines are followed, with their share of the responses",
                              fast->followed, fast->replicas)
                : fmt::format("every engine of the best asynchronous division is followed; {} while dividing",
                              q.followed_replicas));
    return out;
}

}  // namespace sextant::cli
