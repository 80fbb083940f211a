#include "kernels/harness/options.hpp"

#include <algorithm>

#include "kernels/harness/collective_bytes.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/shapes.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {

TEST_CASE("options: values may follow or be joined by an equals sign", "[options]") {
    Options const options = parse_options({"--backend", "host", "--bench=gemm,copies", "--full", "--out", "x.jsonl",
                                           "--format=jsonl", "--resume", "--max-seconds", "2.5", "--row-seconds=0.1",
                                           "--stall-seconds=60", "--seed=7", "--device", "1"});
    CHECK(options.backend == BackendChoice::host);
    CHECK(options.benches == std::vector<std::string>{"gemm", "copies"});
    CHECK(options.effort == Effort::full);
    CHECK(options.out == "x.jsonl");
    CHECK(options.format == FileFormat::jsonl);
    CHECK(options.existing == Existing::append);
    CHECK(options.max_seconds == 2.5);
    CHECK(options.row_seconds == 0.1);
    CHECK(options.stall_seconds == 60);
    CHECK(options.seed == 7);
    CHECK(options.device == 1);
    CHECK(options.action == Action::run);
    CHECK(parse_options({"--dry-run"}).action == Action::dry_run);
    CHECK(parse_options({"--list"}).action == Action::list);
    CHECK(parse_options({"-h"}).action == Action::help);
}

TEST_CASE("options: what makes no sense is refused and named", "[options]") {
    CHECK_THROWS_WITH(parse_options({"--fast"}), contains("--fast"));
    CHECK_THROWS_WITH(parse_options({"gemm"}), contains("gemm"));
    CHECK_THROWS_WITH(parse_options({"--bench"}), contains("--bench"));
    CHECK_THROWS_WITH(parse_options({"--bench", "--quick"}), contains("--bench"));
    CHECK_THROWS_WITH(parse_options({"--bench", "a,,b"}), contains("empty"));
    CHECK_THROWS_WITH(parse_options({"--backend", "rocm"}), contains("cuda"));
    CHECK_THROWS_WITH(parse_options({"--format=xml"}), contains("jsonl"));
    CHECK_THROWS_WITH(parse_options({"--seed", "-1"}), contains("-1"));
    CHECK_THROWS_WITH(parse_options({"--device", "two"}), contains("two"));
    for (char const* seconds : {"nan", "inf", "-1", "1s"})
        CHECK_THROWS_WITH(parse_options({"--row-seconds", seconds}), contains(seconds));
    CHECK_THROWS_WITH(parse_options({"--resume"}), contains("--out"));
}

TEST_CASE("options: every option that the help names is understood", "[options]") {
    std::string const help = help_text();
    for (char const* with_value : {"--backend host", "--bench gemm", "--out f", "--format csv", "--max-seconds 1",
                                   "--row-seconds 1", "--device 0", "--seed 1"}) {
        std::string const text = with_value;
        auto const space = text.find(' ');
        CHECK(help.find(text.substr(0, space)) != std::string::npos);
        CHECK_NOTHROW(parse_options({text.substr(0, space), text.substr(space + 1)}));
    }
    for (char const* flag : {"--list", "--dry-run", "--quick", "--full", "--help"}) {
        CHECK(help.find(flag) != std::string::npos);
        CHECK_NOTHROW(parse_options({flag}));
    }
}

TEST_CASE("shapes: quick lists are a part of the full ones, without repeats", "[shapes]") {
    auto const full = shapes::gemm(Effort::full);
    for (auto const& quick : shapes::gemm(Effort::quick))
        CHECK(std::count(full.begin(), full.end(), quick) == 1);
    for (auto const& shape : full)
        REQUIRE(std::count(full.begin(), full.end(), shape) == 1);
    CHECK(full.size() > 150);
}

TEST_CASE("shapes: attention shapes are what the kernels take", "[shapes]") {
    for (Effort const effort : {Effort::quick, Effort::full})
        for (auto const& all : {shapes::attention(effort), shapes::decode(effort)})
            for (auto const& s : all) {
                CHECK(s.heads % s.kv_heads == 0);
                CHECK((s.head_dim == 64 || s.head_dim == 128));
                CHECK(s.seq_q <= s.seq_kv);
                CHECK(s.batch >= 1);
            }
    for (auto const& rows : shapes::activations(Effort::full)) {
        CHECK(rows.columns % 128 == 0);      // rotary has heads of 128
        CHECK(rows.columns <= 4 * 8 * 512);  // what the norms hold
    }
}

TEST_CASE("shapes: message sizes and rank counts", "[shapes]") {
    CHECK(shapes::message_bytes(8, 512, 8) == std::vector<std::int64_t>{8, 64, 512});
    CHECK(shapes::rank_counts(1).empty());
    CHECK(shapes::rank_counts(2) == std::vector<std::int64_t>{2});
    CHECK(shapes::rank_counts(6) == std::vector<std::int64_t>{2, 4, 6});
    CHECK(shapes::rank_counts(8) == std::vector<std::int64_t>{2, 4, 8});
}

TEST_CASE("bus_bytes: the factors of nccl-tests", "[collectives]") {
    CHECK(bus_bytes("all_reduce", 800, 8) == 1400);
    CHECK(bus_bytes("all_gather", 800, 8) == 700);
    CHECK(bus_bytes("reduce_scatter", 800, 8) == 700);
    CHECK(bus_bytes("all_to_all", 800, 8) == 700);
    CHECK(bus_bytes("broadcast", 800, 8) == 800);
    CHECK(bus_bytes("send_recv", 800, 8) == 800);
    CHECK_THROWS_AS(bus_bytes("gossip", 1, 2), BadInput);
}

}  // namespace sextant::bench
