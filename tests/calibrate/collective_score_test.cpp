#include "calibrate/collective_score.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <set>

using namespace sextant;

namespace {

/// Rows of one gibibyte that were predicted as by a class, `ratio` times as slow as predicted.
class Scored {
public:
    void add(std::string const& entry, double ratio, std::size_t count) {
        CollectiveMeasurement row;
        row.machine = machine_;
        row.bytes = 1 * units::GiB;
        row.measured = ratio * units::ms;
        measured_.push_back(row);
        for (std::size_t i = 0; i < count; ++i)
            rows.push_back({.row = &measured_.back(),
                            .entry = entry,
                            .range = CalibrationRange::by_class,
                            .predicted = 1 * units::ms});
    }

    std::vector<HeldOutRow> rows;

private:
    static std::shared_ptr<CollectiveMachine const> node_of_eight() {
        CollectiveMachine out;
        out.cluster = find_cluster("h100-sxm", "test");
        out.group = place_group(8, 1, 8);
        return std::make_shared<CollectiveMachine const>(std::move(out));
    }

    std::shared_ptr<CollectiveMachine const> machine_ = node_of_eight();
    std::deque<CollectiveMeasurement> measured_;
};

NetworkInterval interval(Scored const& scored, std::string const& entry) {
    auto const all = intervals_from(scored.rows, entry, NetworkPart::scale_up);
    REQUIRE(all.size() == 1);
    CHECK(all.front().from == 256 * units::MiB);
    return all.front();
}

}  // namespace

TEST_CASE("intervals_from: five platforms of a kind speak for their kind, other kinds for what has none") {
    Scored scored;
    for (auto const& [entry, ratio] :
         {std::pair{"a100-nvswitch", 1.1}, {"h100-nvswitch", 0.95}, {"h200-nvswitch", 1.02}, {"b200-nvswitch", 1.05}})
        scored.add(entry, ratio, 10);
    scored.add("gb-nvl72", 0.9, 40);
    scored.add("l40s-pcie", 2.5, 10);
    for (char const* entry : {"class-nvswitch-hopper", "h100-nvswitch"}) {
        CAPTURE(entry);
        CHECK(interval(scored, entry).low == Approx(0.9));
        CHECK(interval(scored, entry).high == Approx(1.1));
        CHECK(interval(scored, entry).rows == 80);
    }
    for (char const* entry : {"class-pcie", "class-scale-up", "class-mesh", "rtx-pro-6000-pcie"}) {
        CAPTURE(entry);
        CHECK(interval(scored, entry).high == Approx(2.5));
        CHECK(interval(scored, entry).rows == 90);
    }
    CHECK(interval(scored, "gb-nvl72").low == Approx(0.9));
    CHECK(interval(scored, "gb-nvl72").high == 1);
    CHECK(interval(scored, "gb-nvl72").rows == 40);
}

TEST_CASE("intervals_from: four platforms of a kind are too few") {
    Scored scored;
    for (char const* entry : {"a100-nvswitch", "h100-nvswitch", "h200-nvswitch", "b200-nvswitch"})
        scored.add(entry, 1.05, 10);
    scored.add("l40s-pcie", 2.5, 10);
    CHECK(interval(scored, "class-nvswitch-hopper").high == Approx(2.5));
}

TEST_CASE("kind_of_entry: a class has its own, a platform that of its class") {
    CHECK(kind_of_entry("gb-nvl72") == "switched");
    CHECK(kind_of_entry("class-nvswitch-blackwell") == "switched");
    CHECK(kind_of_entry("class-scale-up") == "*");
    CHECK(kind_of_entry("gh200-slingshot") == "slingshot");
    CHECK_THROWS_AS(kind_of_entry("no-such"), InputError);
}

TEST_CASE("score_entries: cards without peer access are predicted by their class, not by what was fitted to them") {
    auto read = collective_measurements(read_csv(SEXTANT_SOURCE_DIR "/tests/data/collectives_excerpt.csv"), nullptr);
    prepare_rows(read.rows);
    MeasurementList rows;
    for (CollectiveMeasurement const& row : read.rows)
        if (!row.between_domains()) rows.push_back(&row);
    std::vector<double> ratios;
    for (HeldOutRow const& row :
         score_entries(rows, {}, {.starts = 1, .starts_from = StartsFrom::priors, .threads = 1}, [](auto const&) {}))
        if (row.entry == "l40s-pcie" && row.range == CalibrationRange::by_class)
            ratios.push_back(std::exp(row.log_ratio()));
    REQUIRE(!ratios.empty());
    CHECK(*std::min_element(ratios.begin(), ratios.end()) > 0.5);
}

TEST_CASE("score_rows: each row once, by a fit to the others of its runs, and better than by its class") {
    auto read = collective_measurements(read_csv(SEXTANT_SOURCE_DIR "/tests/data/collectives_excerpt.csv"), nullptr);
    prepare_rows(read.rows);
    MeasurementList rows;
    std::size_t own = 0;
    for (CollectiveMeasurement const& row : read.rows)
        if (!row.between_domains()) {
            rows.push_back(&row);
            if (row.machine->cluster.accelerator.name == "h100-sxm") ++own;
        }
    FitOptions const options{.starts = 1, .starts_from = StartsFrom::priors, .threads = 1};
    auto const median_of_h100 = [](std::vector<HeldOutRow> const& scored, auto const& counts) {
        std::vector<double> off;
        for (HeldOutRow const& row : scored)
            if (row.entry == "h100-nvswitch" && counts(row.range)) off.push_back(std::abs(row.log_ratio()));
        REQUIRE(off.size() > 10);
        std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2), off.end());
        return off[off.size() / 2];
    };
    auto const single = score_rows(rows, {}, options);
    std::multiset<CollectiveMeasurement const*> judged;
    for (HeldOutRow const& row : single)
        if (row.entry == "h100-nvswitch") judged.insert(row.row);
    CHECK(judged.size() == own);
    CHECK(std::set(judged.begin(), judged.end()).size() == own);
    CHECK(median_of_h100(single, [](CalibrationRange range) { return range != CalibrationRange::by_class; }) <
          median_of_h100(score_entries(rows, {}, options, [](auto const&) {}),
                         [](CalibrationRange range) { return range == CalibrationRange::by_class; }));
}
