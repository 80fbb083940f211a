#include "planner/tables/compared_plans.hpp"
#include "planner/tables/reference_runs.hpp"
#include "planner/tables/serving_rows.hpp"
#include "tests/catch.hpp"

#include <map>
#include <set>

using namespace sextant;

TEST_CASE("tables: every schedule runs or says why not, and each earns what it is named for") {
    std::map<std::string, ComparedPlan> by_way;
    for (ComparedPlan& row : compare_schedules()) {
        INFO(row.way);
        CHECK(row.accelerators == 64);
        CHECK_FALSE(row.remark.empty());
        if (row.report) CHECK(row.remark.starts_with("does not fit") == !row.report->fits);
        CHECK(by_way.emplace(row.way, std::move(row)).second);
    }
    CHECK(by_way.size() == 11);
    auto const report = [&](char const* way) {
        INFO(way);
        REQUIRE(by_way.at(way).report);
        return *by_way.at(way).report;
    };
    StepReport const plain = report("1f1b");
    CHECK(report("gpipe").estimate.memory.activations > plain.estimate.memory.activations);
    CHECK(bubble_share(report("interleaved, 2 chunks")) < bubble_share(plain));
    CHECK(bubble_share(report("interleaved, 4 chunks")) < bubble_share(report("interleaved, 2 chunks")));
    CHECK(bubble_share(report("zb-h1")) < bubble_share(plain));
    // The stage with the output matrix, the slowest, waits for the first microbatch either way.
    CHECK(bubble_share(report("zb-h2")) <= bubble_share(report("zb-h1")) * (1 + 1e-9));
}

TEST_CASE("tables: served models have figures or say what is missing, and a larger batch makes tokens cheaper") {
    std::vector<ServedTableRow> const rows = serving_rows();
    REQUIRE(rows.size() == 60);
    std::set<std::string> missing;
    for (std::size_t i = 0; i < rows.size(); i += 2) {
        ServedTableRow const& few = rows[i];
        ServedTableRow const& many = rows[i + 1];
        INFO(few.what.model.name << " " << few.what.plan.weights << " on " << few.what.cluster.name);
        CHECK(few.what.cluster.name == many.what.cluster.name);
        CHECK(few.concurrency < many.concurrency);
        CHECK(few.estimate.has_value() == few.missing.empty());
        CHECK(few.missing == many.missing);
        if (!few.estimate) {
            missing.insert(few.what.cluster.name + ": " + few.missing.substr(0, 12));
            continue;
        }
        CHECK(many.estimate->output_tokens_per_s > few.estimate->output_tokens_per_s);
        CHECK(many.estimate->tpot >= few.estimate->tpot);
        if (few.million_tokens_dollars) CHECK(*many.million_tokens_dollars < *few.million_tokens_dollars);
    }
    CHECK(missing.contains("h100-sxm: does not fit"));  // 671 GB of DeepSeek-V3 on eight
    CHECK_FALSE(missing.contains("h200-sxm: does not fit"));
}

TEST_CASE("tables: reference runs are of presets, whole steps, and say where their tokens come from") {
    for (ReferenceRun const& run : reference_runs()) {
        INFO(run.model);
        CHECK(run.tokens > static_cast<double>(run.sequence * run.global_batch));
        CHECK(std::string(run.tokens_source).size() > 10);
    }
}
