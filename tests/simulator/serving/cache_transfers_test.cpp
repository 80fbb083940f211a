#include "simulator/serving/cache_transfers.hpp"
#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "simulator/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/graph_maker.hpp"
#include "tests/simulator/max_min.hpp"
#include "tests/simulator/serving/fixed_service.hpp"

#include <algorithm>
#include <map>

using namespace sextant;
using namespace sextant::fixtures;
using units::GB;
using units::ms;
using units::s;

namespace {

/// Caches that leave at random times between replicas of a machine with uplinks to share.
struct Traffic {
    std::vector<CacheTransfers::Sent> sent;  ///< in order of time

    Traffic(CacheNetwork const& network, std::int64_t replicas, std::uint64_t seed, int count) {
        std::mt19937_64 random(seed);
        Seconds now{};
        for (int i = 0; i < count; ++i) {
            now += 1e-4 * static_cast<double>(random() % 60) * s;
            auto const from = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(replicas));
            auto const other = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(replicas - 1));
            std::int64_t const to = (from + 1 + other) % replicas;
            double const bytes = 0.01 + 0.001 * static_cast<double>(random() % 400);
            FinishedRequest request;
            request.number = i;
            sent.push_back({.request = request,
                            .to = static_cast<std::int32_t>(to),
                            .at = now,
                            .what = network.transfer({from}, {to}, bytes * GB)});
        }
    }
};

/// When each arrives.
std::vector<double> arrivals(Traffic const& traffic, NetworkMode mode, std::span<FabricLink const> links) {
    EventQueue events;
    CacheTransfers transfers(mode, links, Carrier::here);
    std::vector<double> out(traffic.sent.size(), -1);
    for (CacheTransfers::Sent const& sent : traffic.sent)
        transfers.send(sent, events);
    auto const arrive = [&](std::int32_t number, Seconds now) {
        out[static_cast<std::size_t>(transfers.take(number).request.number)] = now.base();
    };
    while (!events.empty()) {
        ServingEvent const event = events.pop();
        if (event.kind == ServingEvent::Kind::departed) {
            if (transfers.depart(event.index, event.at, events)) arrive(event.index, event.at);
        } else {
            for (std::int32_t const number : transfers.arrivals(event.index, events))
                arrive(number, event.at);
        }
    }
    return out;
}

/// The same on SimGrid: each transfer follows a computation that lasts until it leaves.
std::vector<double> engine_arrivals(Traffic const& traffic, std::span<FabricLink const> links) {
    GraphMaker maker(static_cast<std::int64_t>(traffic.sent.size()));
    std::vector<std::vector<Flow>> flows;
    std::vector<std::uint32_t> tasks;
    for (CacheTransfers::Sent const& sent : traffic.sent) {
        auto const rank = static_cast<std::int32_t>(tasks.size());
        auto const waits = maker.compute(rank, sent.at.base());
        tasks.push_back(maker.transfer({rank}, sent.what.alone().base(), sent.what.latency.base(), {waits}));
        // One flow for each of the ranks, which are symmetric: every link is there once for each that uses it.
        std::vector<Flow> ranks;
        std::size_t const per_rank = sent.what.links.size() / 4;
        for (std::size_t rank_number = 0; rank_number < 4; ++rank_number) {
            auto const first = sent.what.links.begin() + static_cast<std::ptrdiff_t>(rank_number * per_rank);
            ranks.push_back({.links = {first, first + static_cast<std::ptrdiff_t>(per_rank)}, .rate = sent.what.rate});
        }
        flows.push_back(ranks);
    }
    std::vector<FabricLink> const copy(links.begin(), links.end());
    Simulation const simulation = simulate(maker.graph, Fabric(copy, flows), EngineOptions{});
    REQUIRE(simulation.state == Simulation::State::finished);
    std::vector<double> out;
    for (std::uint32_t const task : tasks)
        out.push_back(simulation.times.end[task]);
    return out;
}

ClusterSpec narrow_fabric() {
    ClusterSpec cluster = find_cluster("h100-sxm", "test");
    cluster.scale_out->pod_domains = 2;
    cluster.scale_out->oversubscription.value = 4;
    return cluster;
}

}  // namespace

TEST_CASE("caches: arrivals over shared NICs and uplinks are those of SimGrid, to 1e-9") {
    auto const seed = GENERATE(range(1U, 9U));
    ClusterSpec const cluster = narrow_fabric();
    CacheNetwork const network(cluster, {.tp = 4}, 12);
    Traffic const traffic(network, 12, seed, 40);
    std::vector<double> const ours = arrivals(traffic, NetworkMode::fair, network.links());
    std::vector<double> const theirs = engine_arrivals(traffic, network.links());
    std::vector<double> const alone = arrivals(traffic, NetworkMode::ideal, network.links());
    int slower = 0;
    CAPTURE(seed);
    for (std::size_t i = 0; i < ours.size(); ++i) {
        CHECK(ours[i] == Approx(theirs[i]).epsilon(1e-9));
        CHECK(ours[i] >= alone[i] * (1 - 1e-12));
        if (ours[i] > alone[i] * 1.01) ++slower;
    }
    CHECK(slower > 5);  // or nothing was shared, and nothing compared
}

TEST_CASE("caches: rates are max-min whatever the links and starts") {
    auto const seed = GENERATE(range(0U, 60U));
    std::mt19937_64 random(seed);
    std::vector<double> bandwidths(1 + random() % 6);
    for (double& bandwidth : bandwidths)
        bandwidth = 1 + static_cast<double>(random() % 100);
    std::vector<Flow> flows(1 + random() % 12);
    std::vector<BytesPerSecond> links;
    for (double const bandwidth : bandwidths)
        links.push_back(bandwidth * GB / s);
    SharedLinks shared(links);
    std::map<std::int32_t, std::size_t> numbers;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        std::vector<std::int32_t> way{static_cast<std::int32_t>(random() % bandwidths.size())};
        if (random() % 2 == 0) way.push_back(static_cast<std::int32_t>((way[0] + 1) % static_cast<int>(links.size())));
        if (way.size() == 2 && way[0] == way[1]) way.pop_back();
        flows[i] = flow(way, 0.5 * static_cast<double>(1 + random() % 150));
        numbers[shared.start({}, way, flows[i].rate, flows[i].rate * (1 * s))] = i;
    }
    std::vector<double> const expected = max_min_ends(bandwidths, flows, 1.0);
    std::vector<double> ends(flows.size(), -1);
    for (std::size_t ended = 0; ended < flows.size();) {
        double const now = shared.next_end().base();
        for (std::int32_t const number : shared.take_ended()) {
            ends[numbers.at(number)] = now;
            ++ended;
        }
    }
    for (std::size_t i = 0; i < ends.size(); ++i)
        CHECK(ends[i] == Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("caches: alone one takes what the model of a send says, in a node and between nodes") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    CacheNetwork const network(cluster, {.tp = 4}, 4);
    Bytes const bytes = 0.3 * GB;
    auto const send = [&](std::int64_t stride) {
        return collective_curve(cluster, CollectiveKind::send_receive, place_group(2, stride, 8)).time(bytes).base();
    };
    CHECK(network.transfer({0}, {1}, bytes).alone().base() == Approx(send(1)).epsilon(0.02));
    CHECK(network.transfer({1}, {2}, bytes).alone().base() == Approx(send(8)).epsilon(0.02));
    CHECK(network.transfer({0}, {1}, bytes).alone() < network.transfer({0}, {2}, bytes).alone());
    ClusterSpec one_node = cluster;
    one_node.scale_out.reset();
    CHECK_THROWS_AS(CacheNetwork(one_node, {.tp = 4}, 4), InputError);
}

TEST_CASE("caches: the ranks of a group send, whatever the groups beside it") {
    ClusterSpec const cluster = find_cluster("h200-sxm", "test");
    Bytes const bytes = 0.3 * GB;
    CacheNetwork const alone(cluster, {.tp = 1}, 32);
    CacheNetwork const grouped(cluster, {.tp = 2, .groups = 4, .stages = 2}, 4);
    CacheTransfer const one = alone.transfer({0}, {16}, bytes);
    CHECK(one.ends.size() == 1);
    for (std::int64_t group = 0; group < 4; ++group) {
        CAPTURE(group);
        CacheTransfer const out = grouped.transfer({0, group}, {1, 3 - group}, bytes);
        CHECK(out.ends.size() == 4);  // two ranks of two stages, each with the links that a lone rank has
        CHECK(out.links.size() == 4 * one.links.size());
        CHECK(out.alone().base() == Approx(one.alone().base()));
        for (std::int64_t other = 0; other < group; ++other)
            for (std::int32_t const link : grouped.transfer({0, other}, {1, 3 - other}, bytes).links)
                CHECK(std::find(out.links.begin(), out.links.end(), link) == out.links.end());
    }
}

TEST_CASE("caches: between replicas that are cut alike the ways are those of one kind of replicas") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    Bytes const bytes = 0.3 * GB;
    for (ReplicaRanks const ranks :
         {ReplicaRanks{.tp = 4}, ReplicaRanks{.tp = 2, .groups = 4, .stages = 2}, ReplicaRanks{.tp = 3, .stages = 3}})
        for (std::int64_t const parts : {std::int64_t{1}, ranks.tp, 4 * ranks.tp}) {
            CAPTURE(ranks.tp, parts);
            CacheNetwork const one(cluster, ranks, 5);
            CacheNetwork const two(cluster, {.ranks = ranks, .replicas = 2}, {.ranks = ranks, .replicas = 3}, parts);
            for (std::int64_t to = 2; to < 5; ++to) {
                CacheTransfer const a = one.transfer({1, ranks.groups - 1}, {to}, bytes);
                CacheTransfer const b = two.transfer({1, ranks.groups - 1}, {to}, bytes);
                CHECK(a.links == b.links);
                CHECK(a.ends == b.ends);
                CHECK(a.rate == b.rate);
                CHECK(a.bytes == b.bytes);
                CHECK(a.latency == b.latency);
            }
        }
}

TEST_CASE("caches: a narrower side's links bound what goes between replicas that are cut differently") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    Bytes const bytes = 0.3 * GB;
    /// One replica for prompts and one that decodes, on nodes of their own.
    auto const sent = [&](ReplicaRanks prompts, ReplicaRanks decodes, std::int64_t parts) {
        CacheNetwork const network(cluster, {.ranks = prompts, .replicas = 8 / prompts.count()},
                                   {.ranks = decodes, .replicas = 1}, parts);
        return network.transfer({0}, {8 / prompts.count()}, bytes);
    };
    auto const wire = [](CacheTransfer const& t) { return (t.alone() - t.latency).base(); };
    CacheTransfer const alike = sent({.tp = 4}, {.tp = 4}, 8);
    REQUIRE(alike.ends.size() == 4);
    // Each of four ranks has two halves for eight, which keep half a head's bytes of four: what one gets is given.
    CacheTransfer const wider = sent({.tp = 4}, {.tp = 8}, 8);
    CHECK(wider.ends.size() == 8);
    CHECK(wider.bytes == bytes);
    CHECK(wire(wider) == Approx(2 * wire(alike)).epsilon(1e-6));
    // Each of four ranks gets its bytes from two of eight: its own link is the narrow one.
    CacheTransfer const narrower = sent({.tp = 8}, {.tp = 4}, 8);
    CHECK(narrower.ends.size() == 8);
    CHECK(narrower.bytes.base() == Approx(bytes.base() / 2));
    CHECK(wire(narrower) == Approx(wire(alike)).epsilon(1e-6));
    // A latent lies whole on every rank: one sends it to eight, or to the only one.
    CHECK(wire(sent({.tp = 1}, {.tp = 8}, 1)) == Approx(8 * wire(alike)).epsilon(1e-6));
    CHECK(wire(sent({.tp = 8}, {.tp = 1}, 1)) == Approx(wire(alike)).epsilon(1e-6));
    CHECK(sent({.tp = 8}, {.tp = 1}, 1).ends.size() == 1);
    // Four heads: of eight ranks two have each, and eight others get it from both.
    CHECK(wire(sent({.tp = 8}, {.tp = 8}, 4)) == Approx(wire(alike)).epsilon(1e-6));
    // Layers of two stages go to four and back.
    CHECK(wire(sent({.stages = 2}, {.stages = 4}, 8)) == Approx(2 * wire(alike)).epsilon(1e-6));
    CHECK(wire(sent({.stages = 4}, {.stages = 2}, 8)) == Approx(wire(alike)).epsilon(1e-6));
}

TEST_CASE("caches: every rank gets all that it keeps, from a rank of the sender, whatever the two cuts") {
    auto const seed = GENERATE(range(0U, 40U));
    std::mt19937_64 random(seed);
    auto const one_of = [&](std::vector<std::int64_t> const& values) { return values[random() % values.size()]; };
    auto const ranks = [&] {
        return ReplicaRanks{.tp = one_of({1, 2, 4, 8}), .groups = one_of({1, 2, 3}), .stages = one_of({1, 2, 3, 5})};
    };
    CacheSide const prompts{.ranks = ranks(), .replicas = one_of({1, 2, 3})};
    CacheSide const decodes{.ranks = ranks(), .replicas = one_of({1, 2, 3})};
    std::int64_t const parts = one_of({1, 2, 8});
    CAPTURE(seed, parts, prompts.ranks.tp, prompts.ranks.stages, decodes.ranks.tp, decodes.ranks.stages);
    CacheNetwork const network(find_cluster("h100-sxm", "test"), prompts, decodes, parts);
    CachePlace const from{prompts.replicas - 1, prompts.ranks.groups - 1};
    CachePlace const to{prompts.replicas, decodes.ranks.groups - 1};
    Bytes const bytes = 0.3 * GB;
    CacheTransfer const out = network.transfer(from, to, bytes);
    auto const receivers = static_cast<double>(decodes.ranks.tp * decodes.ranks.stages);
    CHECK(static_cast<double>(out.ends.size()) * out.bytes.base() == Approx(receivers * bytes.base()));
    // Never sooner than where each rank of the narrower side has a rank of its own.
    CacheNetwork const best(find_cluster("h100-sxm", "test"), {.tp = 1}, 32);
    Seconds const alone = best.transfer({0}, {16}, bytes).alone() - best.transfer({0}, {16}, bytes).latency;
    bool const one_node = prompts.replicas * prompts.ranks.count() + decodes.ranks.count() <= 8;
    if (!one_node && out.latency > best.transfer({0}, {1}, bytes).latency)
        CHECK((out.alone() - out.latency).base() >= alone.base() * (1 - 1e-9));
}

TEST_CASE("caches: two senders of one receiver share its link, and no token is lost") {
    ServingSetup setup;
    setup.replicas = 3;
    setup.prefill_replicas = 2;
    setup.limits.max_batch = 64;
    setup.limits.blocks = 1 << 16;
    setup.concurrency = 8;
    auto const run = [&](NetworkMode mode) {
        setup.network = mode;
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length_distribution_from("100", "test"),
                                .output = length_distribution_from("5", "test"),
                                .requests = 400,
                                .longest = 400});
        FixedService service(10 * ms);
        service.fabric = {{"a", 10 * GB / s}, {"b", 10 * GB / s}, {"c", 10 * GB / s}};
        return simulate_serving(setup, service, source);
    };
    ServingOutcome const fair = run(NetworkMode::fair);
    ServingOutcome const ideal = run(NetworkMode::ideal);
    for (ServingOutcome const* out : {&fair, &ideal}) {
        CHECK(out->whole.finished == 400);
        CHECK(out->whole.transfers == 400);
        CHECK(out->whole.counters.tokens_out == out->asked_tokens);
        CHECK(out->blocks_taken == out->blocks_given);
        CHECK(out->whole.in_system == Approx(out->e2e_sum.base()).epsilon(1e-9));
    }
    CHECK(ideal.whole.transferring.base() == Approx(ideal.whole.transferring_alone.base()).epsilon(1e-9));
    CHECK(fair.whole.transferring > 1.2 * fair.whole.transferring_alone);
    // 100 MB each over 10 GB/s: four hundred cannot take less than four seconds through the receiver's link.
    CHECK(fair.whole.at > 4 * s);
}

namespace {

/// Remembers from where and to where caches go.
class WatchedService : public FixedService {
public:
    using FixedService::FixedService;
    [[nodiscard]] CacheTransfer transfer(double tokens, CachePlace from, CachePlace to) const override {
        ++sent[from.group];
        ++received[to.group];
        return FixedService::transfer(tokens, from, to);
    }
    mutable std::map<std::int64_t, int> sent, received;
};

}  // namespace

TEST_CASE("caches: groups that process prompts send them, and those of the receiver take turns") {
    ServingSetup setup;
    setup.replicas = 3;
    setup.prefill_replicas = 2;
    setup.limits.groups = 4;
    setup.limits.blocks = 1 << 12;
    setup.concurrency = 16;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length_distribution_from("100", "test"),
                            .output = length_distribution_from("5", "test"),
                            .requests = 400,
                            .longest = 400});
    WatchedService const service(10 * ms, 0.1 * ms);
    CHECK(simulate_serving(setup, service, source).whole.transfers == 400);
    REQUIRE(service.sent.size() == 4);
    REQUIRE(service.received.size() == 4);
    for (std::int64_t group = 0; group < 4; ++group) {
        CHECK(service.sent.at(group) > 40);
        CHECK(service.received.at(group) == 100);
    }
}
