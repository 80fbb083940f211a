#pragma once

#include <span>
#include <vector>

namespace sextant {

/// Where a hyperparameter is worth tuning, and how what was found is carried to the target.
struct TransferRule {
    char const* what;
    char const* tune_at;  ///< "proxy", "ladder", "target", "not"
    char const* carry_over;
    char const* basis;  ///< "published" or "assumed"
    char const* source;
};
std::span<TransferRule const> transfer_rules();

/// A smaller model to tune on.
struct Proxy {
    double parameters = 0;
    double tokens = 0;
    double flops = 0;            ///< of one run, 6 N D
    double share_of_target = 0;  ///< of the target's compute
};

/// Models of 1/256, 1/64, 1/16 and 1/4 of the target, each on as many tokens per parameter as the target (but no more
/// than `most_tokens_per_parameter`), all but the largest also on half and on twice as many: runs at one ratio tell no
/// law how a budget divides. A ladder to fit laws to, its first rungs for transfer. Sizes and factors are a rule of
/// thumb (assumed). @throws InputError: parameters or tokens not positive.
std::vector<Proxy> proxy_ladder(double parameters, double tokens, double most_tokens_per_parameter = 20);

}  // namespace sextant
