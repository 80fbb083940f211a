#include "core/spec/network_calibration.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

using namespace sextant;

namespace {

NetworkCalibration read(std::string const& text) {
    auto const document = JsonDocument::from_text(text, "calibration.json");
    return read_network_calibration(ObjectReader(document));
}

/// With `from` replaced by `to`, reading is refused with a message that holds `part`.
void refused(std::string text, std::string const& from, std::string const& to, std::string const& part) {
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    try {
        static_cast<void>(read(text));
        FAIL("accepted: " << to);
    } catch (InputError const& error) {
        CHECK_THAT(std::string(error.what()), contains(part));
    }
}

NetworkCalibration const& shipped(std::string const& name) {
    for (NetworkCalibration const& c : all_network_calibrations())
        if (c.name == name) return c;
    FAIL("no calibration called " << name);
    return all_network_calibrations().front();
}

/// A cluster's network model as text: where it is from, constants, how many corrections and intervals.
std::string text_of(ClusterSpec const& cluster) {
    if (!cluster.network_model) return "none";
    NetworkModel const& m = *cluster.network_model;
    std::string out = m.up_part.calibration + " " + m.out_part.calibration;
    out += fmt::format(" {} {} {}", m.corrections.size(), m.intervals.size(), cluster.scale_up.ring_efficiency.value);
    for (auto const& field : scale_up_times)
        out += fmt::format(" {}", (m.up.*field.member).base());
    if (m.out)
        for (auto const& field : scale_out_times)
            out += fmt::format(" {}", ((*m.out).*field.member).base());
    return out;
}

}  // namespace

TEST_CASE("network calibration: what is written is read back, for every one that ships") {
    REQUIRE(all_network_calibrations().size() > 10);
    for (NetworkCalibration const& c : all_network_calibrations()) {
        CAPTURE(c.name);
        NetworkCalibration const again = read(network_calibration_json(c));
        CHECK(network_calibration_json(again) == network_calibration_json(c));
        CHECK(again.scale_up.has_value() == c.scale_up.has_value());
        if (c.scale_up) {
            for (auto const& field : scale_up_times)
                CHECK((again.scale_up->constants.*field.member).base() ==
                      Approx((c.scale_up->constants.*field.member).base()));
            for (auto const& field : scale_up_numbers)
                CHECK(again.scale_up->constants.*field.member == c.scale_up->constants.*field.member);
        }
        REQUIRE(again.corrections.size() == c.corrections.size());
        for (std::size_t i = 0; i < c.corrections.size(); ++i)
            for (double const at : {18.0, 20.0, 24.0, 26.3})
                CHECK(again.corrections[i].jump_at(at) == c.corrections[i].jump_at(at));
        CHECK(again.intervals.size() == c.intervals.size());
        CHECK_FALSE(c.intervals.empty());
        CHECK(c.provenance.rows > 0);
        CHECK_FALSE(c.provenance.sources.empty());
    }
}

TEST_CASE("network calibration: bad files are refused with the place") {
    std::string const good = network_calibration_json(shipped("h100-nvswitch"));
    refused(good, "\"version\": 1", "\"version\": 7", "7");
    refused(good, "\"format\": \"network-calibration\"", "\"format\": \"cluster\"", "cluster");
    refused(good, "\"hop_ll\"", "\"hop_l\"", "hop_ll");
    refused(good, "\"title\"", "\"titel\"", "titel");
    refused(good, "\"basis\": \"fitted\"", "\"basis\": \"guessed\"", "guessed");
    refused(good, "\"collective\":\"all_reduce\"", "\"collective\":\"all_sum\"", "all_sum");
    refused(good, "\"log2_bytes\":[", "\"log2_bytes\":[99.0,", "log2_bytes");
    refused(good, "\"range\":\"inside\"", "\"range\":\"near\"", "near");
    refused(good, "\"low\":", "\"low\":-", "low");
    refused(good, "\"clusters\": [", "\"clusters\": [], \"groups\": [", "");
    CHECK_THROWS_AS(read(good.substr(0, good.size() / 2)), InputError);
    CHECK_THROWS_AS(read(""), InputError);
    CHECK_THROWS_AS(read("{\"format\": \"network-calibration\", \"version\": 1, \"name\": \"x\"}"), InputError);
    std::string nan = good;
    auto const at = nan.find("\"value\": 0.");
    nan.replace(at, 12, "\"value\": NaN");
    CHECK_THROWS_AS(read(nan), InputError);
}

TEST_CASE("network calibration: one that a cluster has no use for is refused with both names") {
    NetworkCalibration const& inside = shipped("h100-nvswitch");
    NetworkCalibration const& between = shipped("h100-infiniband");
    ClusterSpec torus = find_cluster("tpu-v5p", "test");
    CHECK_THROWS_WITH(apply_network_calibration(torus, inside, {}),
                      contains("h100-nvswitch") && contains("tpu-v5p is a torus"));
    ClusterSpec alone = fixtures::cluster();
    alone.scale_out.reset();
    CHECK_THROWS_WITH(apply_network_calibration(alone, between, {}), contains("h100-infiniband: has constants of a"));
}

TEST_CASE("network model: a cluster takes its own calibration, else its class, and says which") {
    ClusterSpec const h100 = find_cluster("h100-sxm", "test");
    REQUIRE(h100.network_model);
    CHECK(h100.network_model->up_part.calibration == "h100-nvswitch");
    CHECK(h100.network_model->up_part.basis == Basis::fitted);
    CHECK(h100.network_model->out_part.calibration == "h100-infiniband");
    CHECK(h100.scale_up.ring_efficiency.basis == Basis::fitted);
    ClusterSpec const b300 = find_cluster("b300-sxm", "test");
    REQUIRE(b300.network_model);
    CHECK(b300.network_model->up_part.calibration == "class-nvswitch-blackwell");
    CHECK(b300.network_model->up_part.basis == Basis::assumed);
    CHECK(b300.network_model->corrections.empty());
    CHECK_FALSE(find_cluster("tpu-v5p", "test").network_model);

    ClusterSpec mine = fixtures::cluster();
    apply_network_calibrations(mine, all_network_calibrations());
    REQUIRE(mine.network_model);
    CHECK(mine.network_model->up_part.range == CalibrationRange::by_class);
    ClusterSpec plain = fixtures::cluster();
    plain.collective_model = CollectiveModel::plain;
    apply_network_calibrations(plain, all_network_calibrations());
    CHECK_FALSE(plain.network_model);
}

TEST_CASE("network_calibrations_for: a cluster gets the same model from its few files as from all") {
    std::vector<std::string> const kinds{"infiniband", "roce", "ethernet", "efa", "slingshot", "none such"};
    for (ClusterSpec const& shipped : all_clusters()) {
        for (bool const renamed : {false, true}) {
            ClusterSpec few = shipped;
            if (renamed) few.name = "of my own";
            for (std::string const& kind : kinds) {
                if (few.scale_out && renamed) few.scale_out->kind = kind;
                ClusterSpec all = few;
                apply_network_calibrations(all, all_network_calibrations());
                apply_network_calibrations(few, network_calibrations_for(few));
                CAPTURE(few.name, kind);
                CHECK(text_of(few) == text_of(all));
            }
        }
    }
}

TEST_CASE("network_calibrations_for: no file but those of the cluster's own networks, or of their kinds, is read") {
    auto const names = [](ClusterSpec const& cluster) {
        std::vector<std::string> out;
        for (NetworkCalibration const& c : network_calibrations_for(cluster))
            out.push_back(c.name);
        return out;
    };
    CHECK(names(find_cluster("h100-sxm", "test")) == std::vector<std::string>{"h100-infiniband", "h100-nvswitch"});
    ClusterSpec mine = find_cluster("h100-sxm", "test");
    mine.name = "of my own";
    for (std::string const& name : names(mine)) {
        CAPTURE(name);
        CHECK((name.starts_with("class-nvswitch") || name == "class-infiniband" || name == "class-network" ||
               name == "class-scale-up"));
    }
}

TEST_CASE("network_calibrations_for: threads that ask at the same time read a file once and agree") {
    std::vector<std::size_t> found(32);
    parallel_for(static_cast<std::int64_t>(found.size()), 8, [&](std::int64_t i) {
        ClusterSpec cluster = all_clusters()[static_cast<std::size_t>(i) % all_clusters().size()];
        if (i % 2 == 0) cluster.name = "of my own";
        found[static_cast<std::size_t>(i)] = network_calibrations_for(cluster).size();
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
        ClusterSpec cluster = all_clusters()[i % all_clusters().size()];
        if (i % 2 == 0) cluster.name = "of my own";
        CHECK(found[i] == network_calibrations_for(cluster).size());
    }
}

TEST_CASE("network model: what a cluster file measured stays when only the class is known") {
    ClusterSpec mine = fixtures::cluster();
    mine.scale_up.ring_efficiency = {0.55, Basis::measured, "own log"};
    mine.scale_out->ring_efficiency = {0.5, Basis::assumed, "guess"};
    apply_network_calibrations(mine, all_network_calibrations());
    CHECK(mine.scale_up.ring_efficiency.value == 0.55);
    CHECK(mine.scale_out->ring_efficiency.value != 0.5);
    NetworkCalibration const& own = shipped("h100-nvswitch");
    apply_network_calibration(mine, own, all_network_calibrations());
    CHECK(mine.scale_up.ring_efficiency.value == own.scale_up->constants.ring);
    ClusterSpec alone = fixtures::cluster();
    alone.scale_out.reset();
    CHECK_THROWS_AS(apply_network_calibration(alone, shipped("h100-infiniband"), {}), InputError);
    CHECK_THROWS_AS(apply_network_calibration(*std::make_unique<ClusterSpec>(find_cluster("tpu-v5p", "test")), own, {}),
                    InputError);
}

TEST_CASE("network model: what is known of exchanges goes before a calibration that has no rows of them") {
    NetworkCalibration own = shipped("h100-infiniband");
    REQUIRE(own.scale_out->is_assumed("exchange"));
    REQUIRE_FALSE(own.scale_out->is_assumed("ring"));
    auto const applied = [&](Basis basis) {
        ClusterSpec mine = fixtures::cluster();
        mine.scale_out->ring_efficiency = {0.5, basis, "own log"};
        mine.scale_out->all_to_all_efficiency = {0.9, basis, "own log"};
        apply_network_calibration(mine, own, all_network_calibrations());
        CHECK(mine.scale_out->ring_efficiency.value == own.scale_out->constants.ring);
        CHECK(mine.scale_out->ring_efficiency.basis == Basis::fitted);
        return mine;
    };
    ClusterSpec const known = applied(Basis::measured);
    CHECK(known.scale_out->all_to_all_efficiency.value == 0.9);
    CHECK(known.scale_out->all_to_all_efficiency.basis == Basis::measured);
    CHECK_FALSE(known.network_model->out_part.exchange_is_assumed);
    ClusterSpec const guessed = applied(Basis::assumed);
    CHECK(guessed.scale_out->all_to_all_efficiency.value == own.scale_out->constants.exchange);
    CHECK(guessed.scale_out->all_to_all_efficiency.basis == Basis::assumed);
    CHECK(guessed.network_model->out_part.exchange_is_assumed);
    for (ConstantNote& note : own.scale_out->notes)
        note.basis = Basis::fitted;
    CHECK(applied(Basis::measured).scale_out->all_to_all_efficiency.value == own.scale_out->constants.exchange);
    for (char const* name : {"mi300x", "mi325x", "mi350x", "mi355x"})
        CHECK(find_cluster(name, "test").scale_out->all_to_all_efficiency.value == 0.92);
}

TEST_CASE("network model: what other machines of the class reach in exchanges between domains is assumed") {
    auto const is_assumed = [](char const* name) {
        return find_cluster(name, "test").network_model->out_part.exchange_is_assumed;
    };
    REQUIRE_FALSE(shipped("class-infiniband").scale_out->is_assumed("exchange"));
    for (char const* name : {"h200-sxm", "h20", "a100-pcie"})
        CHECK(is_assumed(name));
    CHECK(is_assumed("h100-sxm"));        // rows of its own, none of them of exchanges
    CHECK_FALSE(is_assumed("b200-sxm"));  // two nodes of it were measured
    CHECK_FALSE(is_assumed("mi300x"));    // its cluster file says it
}

TEST_CASE("network model: a known bus bandwidth of the switch is that of a whole domain when only the class is known") {
    for (Basis const basis : {Basis::measured, Basis::fitted, Basis::assumed}) {
        ClusterSpec mine = fixtures::cluster();
        mine.scale_up.in_network_reduction_efficiency = {0.6, basis, "own log"};
        apply_network_calibrations(mine, all_network_calibrations());
        ScaleUpConstants const& up = mine.network_model->up;
        auto const n = static_cast<double>(mine.domain_size);
        double const reached = 2 * (n - 1) / n * up.nvls / (1 + up.nvls_share / n);
        CHECK((reached == Approx(0.6)) == (basis != Basis::assumed));
    }
    // A rack that reaches less than its class says of as many: groups of eight lose less, and constants stay in bounds.
    ClusterSpec rack = fixtures::cluster();
    rack.domain_size = 72;
    apply_network_calibrations(rack, all_network_calibrations());
    ScaleUpConstants const of_class = rack.network_model->up;
    rack.scale_up.in_network_reduction_efficiency = {0.9, Basis::measured, "own log"};
    apply_network_calibrations(rack, all_network_calibrations());
    auto const reached = [](ScaleUpConstants const& up, double n) {
        return 2 * (n - 1) / n * up.nvls / (1 + up.nvls_share / n);
    };
    ScaleUpConstants const& up = rack.network_model->up;
    CHECK(reached(up, 72) == Approx(0.9));
    CHECK(up.nvls_share >= 0);
    CHECK(reached(of_class, 8) > reached(up, 8));
    CHECK(reached(up, 8) > reached(of_class, 8) * 0.9 / reached(of_class, 72));
    ClusterSpec own = find_cluster("h100-sxm", "test");  // has constants of its own
    CHECK(own.network_model->up.nvls == shipped("h100-nvswitch").scale_up->constants.nvls);
}

TEST_CASE("network model: of machines unlike those of its rows a class leaves the efficiencies, and has all else") {
    struct Machine {
        char const* name;
        char const* calibration;
        double ring;  ///< of the cluster file
    };
    auto const [name, calibration, ring] =
        GENERATE(Machine{"rtx-4090-box", "class-pcie", 0.17}, Machine{"t4-pcie", "class-pcie", 0.17},
                 Machine{"mi300x", "class-mesh", 0.72}, Machine{"mi250x", "class-mesh", 0.6},
                 Machine{"max-1550", "class-mesh", 0.5}, Machine{"cloudmatrix384", "class-scale-up", 0.8});
    CAPTURE(name);
    ClusterSpec const c = find_cluster(name, "test");
    CHECK(c.network_model->up_part.calibration == calibration);
    CHECK(c.network_model->up.base_ll == shipped(calibration).scale_up->constants.base_ll);
    CHECK(c.scale_up.ring_efficiency.value == ring);
    CHECK(c.scale_up.ring_efficiency.basis == Basis::assumed);
    CHECK_THAT(c.scale_up.all_to_all_efficiency.source, !contains("network calibration"));
}

TEST_CASE("network model: machines like those of its rows take a class's efficiencies") {
    for (auto const& [name, calibration] :
         {std::pair{"h100-pcie", "class-pcie"}, std::pair{"l40s-p2p", "class-pcie"},
          std::pair{"dgx-1-v100", "class-mesh"}, std::pair{"dgx-2-v100", "class-scale-up"}}) {
        CAPTURE(name);
        CHECK(find_cluster(name, "test").scale_up.ring_efficiency.value ==
              shipped(calibration).scale_up->constants.ring);
    }
    // A machine's own constants hold whatever it is.
    CHECK(find_cluster("l40s-pcie", "test").scale_up.ring_efficiency.value ==
          shipped("l40s-pcie").scale_up->constants.ring);
}
