#include "planner/trials/transfer_advice.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr TransferRule rules[] = {
    {"learning rate over width", "proxy",
     "under muP: hidden matrices with Adam scale as 1/width, embeddings and vectors stay; tune at a width of 256 or "
     "more",
     "published", "arXiv:2203.03466, table 3"},
    {"learning rate over tokens", "ladder", "falls with the horizon, about D^-0.32: fit it over two or three horizons",
     "published", "arXiv:2409.19913"},
    {"learning rate without muP", "ladder",
     "fit a power law in C, or N and D ('sextant scaling predict' shows several)", "published",
     "arXiv:2401.02954; arXiv:2503.04715"},
    {"initial standard deviation, output and attention multipliers", "proxy",
     "under muP: sigma^2 as 1/fan-in, output as 1/width, attention as 1/head size", "published",
     "arXiv:2203.03466, table 3"},
    {"learning rate over depth", "proxy", "needs branches scaled by 1/sqrt(depth); else keep the depth of the target",
     "published", "arXiv:2310.02244"},
    {"batch", "ladder",
     "the critical batch grows with the tokens (about D^0.47), hardly with the model: measure, then extend",
     "published", "arXiv:2410.21676; arXiv:1812.06162"},
    {"weight decay", "proxy", "keep the time scale B/(lr wd D) of AdamW; muP alone does not carry it over", "published",
     "arXiv:2505.13738; arXiv:2203.03466, table 1"},
    {"dropout and other regularisation", "target", "depends on model and data size together: not from a smaller model",
     "published", "arXiv:2203.03466, table 1"},
    {"warm-up", "proxy", "about the same number of steps; longer if the loss spikes early", "assumed",
     "common practice (2,000 to 8,000 steps)"},
    {"Adam's beta2 and epsilon", "proxy", "0.95 and 1e-8 as most large runs; epsilon well below the gradients' scale",
     "assumed", "common practice"},
    {"decay of wsd", "proxy", "about a tenth of the tokens at any size", "published", "arXiv:2404.06395"},
    {"mixture of data sets", "proxy", "a small model's weights were used for one 30 times larger; check one rung up",
     "published", "arXiv:2305.10429"},
    {"architecture (experts, heads, feed-forward ratio)", "ladder",
     "compare laws, not single runs: the order at one size may turn", "assumed", "docs/trials.md"},
    {"tokeniser and vocabulary", "not", "compare by bits per byte, on the ladder, before anything else", "assumed",
     "losses per token cannot be compared"},
    {"router losses and biases of a mixture of experts", "ladder", "no transfer rule is established", "assumed",
     "none known"},
};

}  // namespace

std::span<TransferRule const> transfer_rules() { return rules; }

std::vector<Proxy> proxy_ladder(double parameters, double tokens, double most_tokens_per_parameter) {
    for (double const value : {parameters, tokens})
        if (!(value >= 1 && value <= 1e18))
            throw InputError("target: {} is out of range (parameters and tokens of 1 to 1e18)", value);
    double const ratio = std::min(tokens / parameters, most_tokens_per_parameter);
    std::vector<Proxy> ladder;
    for (double const part : {256.0, 64.0, 16.0, 4.0}) {
        for (double const times : {0.5, 1.0, 2.0}) {
            if (times != 1 && part == 4) continue;  // the dearest rung: once
            Proxy proxy{.parameters = parameters / part};
            proxy.tokens = times * ratio * proxy.parameters;
            proxy.flops = 6 * proxy.parameters * proxy.tokens;
            proxy.share_of_target = proxy.flops / (6 * parameters * tokens);
            ladder.push_back(proxy);
        }
    }
    return ladder;
}

}  // namespace sextant
