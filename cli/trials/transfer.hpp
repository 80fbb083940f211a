#pragma once

#include "cli/view/table.hpp"
#include "planner/trials/transfer_advice.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// The answer of `sextant trials transfer`: the rules, and a ladder for a target if there is one.
struct TransferReport {
    std::vector<Proxy> ladder{};
};

/// For people. Sample:
///
///     learning rate over width: proxy
///       under muP: hidden matrices with Adam scale as 1/width ... (published: arXiv:2203.03466, table 3)
std::string transfer_text(TransferReport const& report);
/// A row per rule.
Table transfer_table(TransferReport const& report);
/// Keys: docs/trials.md.
std::string transfer_json(TransferReport const& report);

}  // namespace sextant::cli
