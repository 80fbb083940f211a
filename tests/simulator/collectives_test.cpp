#include "simulator/collectives/catalog.hpp"
#include "simulator/collectives/symbolic.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/collective_cases.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

using namespace sextant;
using test::CollectiveCase;
using test::every_case;

namespace {

/// Bytes that each rank sends, as a part of the buffer.
std::vector<double> sent_by_rank(CollectiveShape const& shape, CollectiveProgram const& program) {
    std::vector<double> sent(static_cast<std::size_t>(shape.ranks));
    for (Round const& round : program.rounds)
        for (Transfer const& t : round.transfers)
            sent[static_cast<std::size_t>(t.source)] +=
                static_cast<double>(t.count) / static_cast<double>(program.chunks);
    return sent;
}

double most(std::vector<double> const& values) { return *std::max_element(values.begin(), values.end()); }

CollectiveShape plain(CollectiveKind kind, std::int64_t ranks, std::int64_t per_domain) {
    return {.kind = kind, .ranks = ranks, .ranks_per_domain = per_domain, .torus = {}, .torus_wraps = {}};
}

}  // namespace

TEST_CASE("every collective algorithm does what its kind says, for 1 to 16 ranks in domains of any size", "[INV-40]") {
    std::size_t cases = 0;
    std::set<std::string_view> seen;
    every_case([&](CollectiveCase const& c) {
        CAPTURE(c.name());
        CollectiveProgram const program = c.algorithm->program(c.shape);
        auto const fault = find_fault(c.shape, program);
        INFO(fault.value_or(""));
        CHECK_FALSE(fault.has_value());
        seen.insert(c.algorithm->name);
        ++cases;
    });
    CHECK(seen.size() == collective_catalog().size());
    CHECK(cases > 1000);
}

TEST_CASE("the flows of an algorithm are its rounds, added up", "[INV-41]") {
    every_case([&](CollectiveCase const& c) {
        CAPTURE(c.name());
        CollectiveFlows const summed = flows_of(c.shape, c.algorithm->program(c.shape));
        CollectiveFlows const quick = flows_of(*c.algorithm, c.shape);
        CHECK(quick.rounds == summed.rounds);
        CHECK(quick.phases == summed.phases);
        REQUIRE(quick.flows.size() == summed.flows.size());
        std::vector<Hops> longest(summed.phases.size());
        std::vector<Hops> claimed(summed.phases.size());
        for (std::size_t i = 0; i < quick.flows.size(); ++i) {
            CollectiveFlow const& a = quick.flows[i];
            CollectiveFlow const& b = summed.flows[i];
            REQUIRE(std::tuple(a.phase, a.source, a.destination) == std::tuple(b.phase, b.source, b.destination));
            REQUIRE(a.share == Approx(b.share).epsilon(1e-12));
            REQUIRE(a.hops >= b.hops);
            auto const phase = static_cast<std::size_t>(a.phase);
            longest[phase] = std::max(longest[phase], b.hops);
            claimed[phase] = std::max(claimed[phase], a.hops);
        }
        CHECK(longest == claimed);
    });
}

TEST_CASE("a transfer left out, sent to the wrong rank or added twice is found", "[INV-40]") {
    std::mt19937_64 random(fixtures::seeded(7));
    std::map<std::string_view, int> broken;
    every_case([&](CollectiveCase const& c) {
        CollectiveProgram const program = c.algorithm->program(c.shape);
        if (program.rounds.empty() || c.shape.ranks < 3) return;
        CAPTURE(c.name());
        for (int i = 0; i < fixtures::cases(4, 1); ++i) {
            std::size_t const at = random() % program.rounds.size();
            if (program.rounds[at].transfers.empty()) continue;
            std::size_t const which = random() % program.rounds[at].transfers.size();
            CAPTURE(at, which);

            CollectiveProgram dropped = program;
            auto& left = dropped.rounds[at].transfers;
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
            CHECK(find_fault(c.shape, dropped).has_value());

            // In the last round: before it, another rank might still pass on what went astray.
            CollectiveProgram swapped = program;
            auto& last = swapped.rounds.back().transfers;
            Transfer& moved = last[random() % last.size()];
            moved.destination = static_cast<std::int32_t>((moved.destination + 1) % c.shape.ranks);
            CHECK(find_fault(c.shape, swapped).has_value());

            CollectiveProgram shifted = program;
            ++shifted.rounds[at].transfers[which].to;
            CHECK(find_fault(c.shape, shifted).has_value());

            if (program.rounds[at].transfers[which].operation == TransferOperation::reduce) {
                CollectiveProgram repeated = program;
                Round again = program.rounds[at];
                again.transfers = {program.rounds[at].transfers[which]};
                repeated.rounds.insert(repeated.rounds.begin() + static_cast<std::ptrdiff_t>(at) + 1, again);
                CHECK(find_fault(c.shape, repeated).has_value());
                CollectiveProgram overwritten = program;
                overwritten.rounds[at].transfers[which].operation = TransferOperation::copy;
                CHECK(find_fault(c.shape, overwritten).has_value());
            }
            ++broken[c.algorithm->name];
        }
    });
    CHECK(broken.size() == collective_catalog().size());
}

TEST_CASE("find_fault names the rank and what is wrong", "[INV-40]") {
    CollectiveShape const shape = plain(CollectiveKind::all_reduce, 2, 2);
    auto const add = TransferOperation::reduce;
    auto const copy = TransferOperation::copy;
    auto const program = [](std::vector<std::vector<Transfer>> const& rounds) {
        CollectiveProgram made{.chunks = 1, .slots = 1, .phases = {"only"}, .rounds = {}};
        for (auto const& transfers : rounds)
            made.rounds.push_back({0, transfers});
        return made;
    };
    CHECK_FALSE(find_fault(shape, program({{{0, 1, 0, 0, 1, add}, {1, 0, 0, 0, 1, add}}})).has_value());
    auto const says = [&](std::vector<std::vector<Transfer>> const& rounds, char const* words) {
        auto const fault = find_fault(shape, program(rounds));
        REQUIRE(fault.has_value());
        CHECK_THAT(*fault, contains(words));
    };
    says({}, "in the end rank 0 has 1 of 2 contributions in chunk 0");
    says({{{0, 1, 0, 0, 1, add}}, {{1, 0, 0, 0, 1, add}}}, "twice");
    says({{{0, 0, 0, 0, 1, add}}}, "itself");
    says({{{0, 2, 0, 0, 1, add}}}, "2 ranks");
    says({{{0, 1, 0, 1, 1, add}}}, "slot 1");
    says({{{0, 1, 0, 0, 0, add}}}, "0 slots");
    says({{{0, 1, 0, 0, 1, add}, {0, 1, 0, 0, 1, copy}}}, "at once");
    CollectiveShape const gather = plain(CollectiveKind::all_gather, 2, 2);
    CollectiveProgram empty{.chunks = 2, .slots = 2, .phases = {"only"}, .rounds = {{0, {{0, 1, 1, 1, 1, copy}}}}};
    CHECK_THAT(find_fault(gather, empty).value_or(""), contains("holds nothing"));
}

TEST_CASE("bytes sent are those of the textbook", "[INV-42]") {
    auto const sent = [](char const* name, CollectiveShape const& shape) {
        CollectiveAlgorithm const& algorithm = find_collective(name, "test");
        REQUIRE_FALSE(why_not(algorithm, shape).has_value());
        return sent_by_rank(shape, algorithm.program(shape));
    };
    using Kind = CollectiveKind;
    for (std::int64_t n = 1; n <= 16; ++n)
        for (std::int64_t m = 1; m <= n; ++m) {
            CAPTURE(n, m);
            double const part = static_cast<double>(n - 1) / static_cast<double>(n);
            // Every rank of a ring sends the same: 2 (n - 1) / n of an all-reduce's buffer, half of that for its
            // halves.
            for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter})
                for (double const share : sent("ring", plain(kind, n, m)))
                    CHECK(share == Approx(kind == Kind::all_reduce ? 2 * part : part).margin(1e-12));
            for (double const share : sent("pairwise", plain(Kind::all_to_all, n, m)))
                CHECK(share == Approx(part).margin(1e-12));
            for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::all_to_all})
                for (double const share : sent("direct", plain(kind, n, m)))
                    CHECK(share == Approx(kind == Kind::all_reduce ? 2 * part : part).margin(1e-12));
            for (double const share : sent("bruck", plain(Kind::all_gather, n, m)))
                CHECK(share == Approx(part).margin(1e-12));
            // Trees: nobody sends more than twice the buffer when one rank is a domain; n - 1 buffers up and down in
            // all.
            if (m == 1) CHECK(most(sent("tree", plain(Kind::all_reduce, n, m))) <= 2 + 1e-12);
            double all = 0;
            for (double const share : sent("tree", plain(Kind::all_reduce, n, m)))
                all += share;
            CHECK(all == Approx(2.0 * static_cast<double>(n - 1)).margin(1e-9));
            if (n % m != 0) continue;
            auto const md = static_cast<double>(m);
            double const inside = (md - 1) / md;
            double const across = static_cast<double>(n / m - 1) / static_cast<double>(n / m);
            for (double const share : sent("hierarchical", plain(Kind::all_reduce, n, m)))
                CHECK(share == Approx(2 * inside + 2 * across / md).margin(1e-12));
            for (double const share : sent("hierarchical-all-to-all", plain(Kind::all_to_all, n, m)))
                CHECK(share == Approx(inside + across).margin(1e-12));
        }
    for (std::int64_t n : {1, 2, 4, 8, 16}) {
        double const part = static_cast<double>(n - 1) / static_cast<double>(n);
        for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter})
            for (double const share : sent("halving-doubling", plain(kind, n, n)))
                CHECK(share == Approx(kind == Kind::all_reduce ? 2 * part : part).margin(1e-12));
    }
    CollectiveShape box = plain(Kind::all_reduce, 12, 12);
    box.torus = {3, 4};
    for (double const share : sent("torus", box))
        CHECK(share == Approx(2 * 11 / 12.0).epsilon(1e-12));
}

TEST_CASE("rounds are those of the textbook", "[INV-42]") {
    using Kind = CollectiveKind;
    auto const rounds = [](char const* name, CollectiveShape const& shape) {
        return flows_of(find_collective(name, "test"), shape).rounds;
    };
    for (std::int64_t n = 2; n <= 16; ++n) {
        CAPTURE(n);
        std::int64_t log2 = 0;
        while ((1 << log2) < n)
            ++log2;
        CHECK(rounds("ring", plain(Kind::all_reduce, n, n)) == 2 * (n - 1));
        CHECK(rounds("ring", plain(Kind::all_gather, n, n)) == n - 1);
        CHECK(rounds("ring", plain(Kind::broadcast, n, n)) == n + n - 2);  // n pieces down a chain of n ranks
        CHECK(rounds("binomial-tree", plain(Kind::broadcast, n, n)) == log2);
        CHECK(rounds("binomial-tree", plain(Kind::all_reduce, n, n)) == 2 * log2);
        CHECK(rounds("bruck", plain(Kind::all_gather, n, n)) == log2);
        CHECK(rounds("pairwise", plain(Kind::all_to_all, n, n)) == n - 1);
        bool const power = (n & (n - 1)) == 0;
        CHECK(rounds("halving-doubling", plain(Kind::all_reduce, n, n)) == (power ? 2 * log2 : 2 * (log2 - 1) + 2));
    }
    CHECK(rounds("hierarchical", plain(Kind::all_reduce, 16, 4)) == 3 + 6 + 3);
    CHECK(rounds("hierarchical-all-to-all", plain(Kind::all_to_all, 16, 4)) == 3 + 3);
    CollectiveShape box = plain(Kind::reduce_scatter, 24, 24);
    box.torus = {2, 3, 4};
    CHECK(rounds("torus", box) == 3 + 3 + 3);  // parts start on different axes: each phase lasts as long as the longest
}

TEST_CASE("rings over domains use every NIC alike and cross rails only where an odd number of domains closes",
          "[INV-42]") {
    for (std::int64_t domains = 2; domains <= 5; ++domains) {
        CollectiveShape const shape = plain(CollectiveKind::all_reduce, 4 * domains, 4);
        std::map<std::int32_t, double> out;
        std::map<std::int32_t, double> in;
        for (CollectiveFlow const& flow : flows_of(find_collective("ring", "test"), shape).flows) {
            if (shape.domain_of(flow.source) == shape.domain_of(flow.destination)) continue;
            out[flow.source] += flow.share;
            in[flow.destination] += flow.share;
            bool const closes = flow.destination < 4;
            if (domains % 2 == 0 || !closes) CHECK(flow.source % 4 == flow.destination % 4);
        }
        CHECK(out.size() == static_cast<std::size_t>(shape.ranks));
        CHECK(in.size() == static_cast<std::size_t>(shape.ranks));
        double const each = 2 * (1 - 1 / static_cast<double>(shape.ranks)) / 4;
        for (auto const& [rank, share] : out)
            CHECK(share == Approx(each).epsilon(1e-12));
    }
}

TEST_CASE("a thousand ranks are a few thousand flows", "[INV-41]") {
    using Kind = CollectiveKind;
    auto const count = [](char const* name, Kind kind, std::int64_t ranks, std::int64_t domain) {
        return flows_of(find_collective(name, "test"), plain(kind, ranks, domain)).flows.size();
    };
    CHECK(count("ring", Kind::all_reduce, 1024, 1024) == 1024);
    CHECK(count("ring", Kind::all_reduce, 1024, 8) <= 3072);
    CHECK(count("hierarchical", Kind::all_reduce, 1024, 8) == 3072);
    CHECK(count("halving-doubling", Kind::all_reduce, 1024, 8) == 20480);
    CHECK(count("hierarchical-all-to-all", Kind::all_to_all, 1024, 8) == 1024 * (7 + 127));
    for (char const* name : {"pairwise", "direct"})
        CHECK_THAT(why_not(find_collective(name, "test"), plain(Kind::all_to_all, 1024, 8)).value_or(""),
                   contains("1047552 transfers (at most 500000)"));
}

TEST_CASE("an unknown algorithm or kind is refused with the known ones", "[INV-11]") {
    CHECK_THROWS_WITH(find_collective("rings", "--algorithm"),
                      contains("--algorithm") && contains("'rings'") && contains("did you mean 'ring'"));
    CHECK_THROWS_WITH(collective_kind_from("allreduce", "--kind"), contains("--kind") && contains("all-reduce"));
    CHECK(collective_kind_from("all-to-all", "--kind") == CollectiveKind::all_to_all);
}
