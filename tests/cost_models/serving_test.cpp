#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/collective_time.hpp"
#include "cost_models/serving/engine_attention.hpp"
#include "cost_models/serving/expert_exchange.hpp"
#include "cost_models/serving/pipeline_pace.hpp"
#include "cost_models/serving/prompt_mix.hpp"
#include "cost_models/serving/recurrent_state.hpp"
#include "cost_models/serving/stage_split.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string_view>

using namespace sextant;

namespace {

ServingCase served(char const* model, char const* cluster, ServingPlan const& plan = {}) {
    return {.model = find_model(model),
            .cluster = find_cluster(cluster, "test"),
            .plan = plan,
            .engine = find_engine("vllm", "test")};
}

IterationLoad decodes(double batch, double context) {
    return {.decodes = batch, .decode_context = batch * context, .samples = batch};
}

}  // namespace

TEST_CASE("serving: decoding a 70B model in two bytes reads all of its weights once per token") {
    // 141 GB over 3.35 TB/s are 42.1 ms (41.8 ms without the token table, of which a token reads one row).
    IterationModel const model(served("llama-3.1-70b", "h100-sxm"));
    CHECK(model(decodes(1, 512)).total().in(units::ms) >= 41.8);
    CHECK(model(decodes(1, 512)).total().in(units::ms) < 70);
}

TEST_CASE("serving: the time per token of a batch is the mean of its iterations as their contexts grow") {
    std::mt19937_64 random(fixtures::seeded(31));
    for (char const* name : {"llama-3.1-8b", "mixtral-8x7b"}) {
        ServingPlan plan;
        plan.tp = 2;
        IterationModel const model(served(name, "h100-sxm", plan));
        for (int i = 0; i < 10; ++i) {
            RequestShape request;
            request.prompt = static_cast<double>(16 + random() % 4000);
            request.output = static_cast<double>(2 + random() % 400);
            auto const batch = static_cast<double>(1 + random() % 64);
            double sum = 0;
            for (double done = 0.5; done < request.output; ++done)
                sum += model(decodes(batch, request.prompt + done)).total().base();
            CAPTURE(name, request.prompt, request.output, batch);
            CHECK(static_batch(model, request, batch).tpot.base() == Approx(sum / request.output).epsilon(0.01));
        }
    }
}

TEST_CASE(
    "serving: a gap between kernels makes an iteration longer, most where inputs are rounded by kernels of their own") {
    auto const added_by_gap = [](char const* format) {
        ServingPlan plan;
        plan.weights = format;
        ServingCase what = served("llama-3.1-8b", "h100-sxm", plan);
        auto const time = [&](double gap) {
            what.engine.kernel_gap.value = gap * units::us;
            return IterationModel(what)(decodes(16, 700)).total();
        };
        CAPTURE(format);
        CHECK(time(2) > time(0));
        return (time(20) - time(2)) / (18 * units::us);
    };
    for (char const* wide : {"bf16", "int4-weights"})
        for (char const* narrow : {"fp8", "fp8-block", "int8"})
            CHECK(added_by_gap(narrow) > added_by_gap(wide) + 1);  // kernels
}

TEST_CASE("serving: an iteration takes no less for more tokens, more context or more sequences") {
    for (char const* name :
         {"llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "gemma-2-9b", "nemotron-h-8b", "deepseek-v3.2"}) {
        CAPTURE(name);
        IterationModel const model(served(name, "h100-sxm"));
        Seconds last{};
        for (double const batch : {1.0, 2.0, 5.0, 17.0, 64.0, 200.0}) {
            Seconds const time = model(decodes(batch, 700)).total();
            // Tiles round: a larger batch may fall on a better one by a few per cent.
            CHECK(time > 0.93 * last);
            last = std::max(last, time);
            CHECK(model(decodes(batch, 4000)).decode >= model(decodes(batch, 700)).decode * 0.98);
        }
        for (double const past : {0.0, 100.0, 3000.0})
            CHECK(model.prefill_attention(past, 500) <=
                  model.prefill_attention(past + 1000, 500) * 1.25 + 1 * units::ms);
        CHECK(model.prefill_attention(0, 2000) / units::s ==
              Approx(model.prefill_attention(0, 700) / units::s + model.prefill_attention(700, 1300) / units::s)
                  .epsilon(1e-9));
    }
}

TEST_CASE("serving: a faster device never lowers throughput at a fixed load") {
    RequestShape const request{.prompt = 1500, .output = 300};
    for (double const concurrency : {1.0, 8.0, 64.0}) {
        double last = 0;
        for (char const* cluster : {"a100-sxm-80gb", "h100-sxm", "h200-sxm"}) {
            CAPTURE(cluster, concurrency);
            double const rate =
                closed_loop(IterationModel(served("llama-3.1-8b", cluster)), request, concurrency).output_tokens_per_s;
            CHECK(rate > last);
            last = rate;
        }
    }
}

TEST_CASE("serving: requests in flight are rate times latency (Little), and their rate no more than the capacity") {
    for (std::int64_t const max_batch : {8, 64, 512})
        for (std::int64_t const pp : {1, 2})
            for (double const output : {1.0, 2.0, 7.0, 200.0}) {
                ServingPlan plan;
                plan.tp = 2;
                plan.pp = pp;
                plan.max_batch = max_batch;
                IterationModel const model(served("llama-3.1-8b", "h100-sxm", plan));
                RequestShape const request{.prompt = 900, .output = output};
                double const capacity = serving_capacity(model, request);
                for (double const concurrency : {1.0, 2.0, 10.0, 300.0}) {
                    CAPTURE(max_batch, pp, output, concurrency);
                    ServingEstimate const e = closed_loop(model, request, concurrency);
                    CHECK(e.requests_per_s * (e.latency / units::s) == Approx(concurrency).epsilon(1e-3));
                    CHECK(e.requests_per_s <= capacity * 1.001);
                    CHECK(e.decodes <= static_cast<double>(max_batch) * (1 + 1e-9));
                }
            }
}

TEST_CASE("serving: stages send slower out of an over-subscribed pod, within one as if there were none", "[INV-18]") {
    auto const alone = [](ServingPlan const& plan, std::int64_t pod_domains) {
        ServingCase what = served("llama-3.1-70b", "h100-sxm", plan);
        what.cluster.scale_out->pod_domains = pod_domains;
        what.cluster.scale_out->oversubscription.value = 64;
        return closed_loop(IterationModel(what), {.prompt = 2000, .output = 100}, 1);
    };
    ServingPlan plan;
    plan.tp = 8;
    plan.pp = 4;
    ServingEstimate const whole = alone(plan, 0);
    CHECK(alone(plan, 4).latency == whole.latency);
    CHECK(alone(plan, 2).latency > whole.latency);
    CHECK(alone(plan, 1).latency > alone(plan, 2).latency);
    // Stages that share a node send over its links, but for one that is the last there.
    plan.tp = 4;
    CHECK(alone(plan, 2).latency == alone(plan, 0).latency);
    CHECK(alone(plan, 1).latency > alone(plan, 0).latency);
}

TEST_CASE("serving: stages in a PCIe node send at the pace of what lies between them, not of two under one switch") {
    auto const sending = [](std::int64_t pp, double pair_gain, double quad_gain) {
        ServingPlan plan;
        plan.pp = pp;
        ServingCase what = served("llama-3.1-8b", "a100-pcie", plan);
        REQUIRE(what.cluster.scale_up.kind == ScaleUpKind::pcie);
        REQUIRE(what.cluster.domain_size == 8);
        auto network = std::make_shared<NetworkModel>(*what.cluster.network_model);
        network->up.pair_gain = pair_gain;
        network->up.quad_gain = quad_gain;
        what.cluster.network_model = std::move(network);
        return closed_loop(IterationModel(what), {.prompt = 2000, .output = 100}, 1).chunk.communication.base();
    };
    // The one send of two stages is under a switch.
    CHECK(sending(2, 4, 1) < 0.9 * sending(2, 1, 1));
    CHECK(sending(2, 4, 4) == sending(2, 4, 1));
    // Of four stages the second sends to another switch of its socket, of eight the fourth to the other socket.
    CHECK(sending(4, 4, 2) == Approx(2 * sending(2, 4, 4) + (sending(3, 4, 2) - sending(2, 4, 4))));
    CHECK(sending(4, 4, 2) < sending(4, 4, 1));
    CHECK(sending(3, 4, 1) > 3 * sending(2, 4, 1));
    CHECK(sending(5, 4, 4) - sending(4, 4, 4) > 2 * sending(2, 4, 4));
    CHECK(sending(8, 4, 2) == Approx(4 * sending(2, 4, 2) + 2 * (sending(3, 4, 2) - sending(2, 4, 2)) +
                                     (sending(5, 4, 2) - sending(4, 4, 2))));
}

TEST_CASE("serving: between two steps of a pipeline's group a stage has one of each other, with its host's time") {
    RequestShape const request{.prompt = 4000, .output = 101};
    for (std::int64_t const pp : {1, 2, 4}) {
        ServingPlan plan;
        plan.pp = pp;
        ServingCase what = served("llama-3.1-8b", "h100-sxm", plan);
        what.engine.planning = IterationPlanning::in_turn;
        what.engine.host_per_iteration.value = 3 * units::ms;
        IterationModel const model(what);
        auto const stages = static_cast<double>(pp);
        PromptMix const plain = mix_at(model, request, 40, 0, 41);
        CAPTURE(pp);
        Seconds const slowest = model.at_slowest_stage(plain.plain);
        CHECK(slowest.base() >= Approx((plain.plain.device() / stages + plain.plain.host).base()));
        CHECK(plain.mean.base() == Approx((stages * slowest).base()));
        PromptMix const alone = mix_at(model, request, 1 / stages, 0, 1);  // nobody else is there
        CHECK(alone.mean.base() == Approx(alone.plain.total().base()));
        // No batch overtakes one with prompts: these delay all of them, by a whole iteration.
        PromptMix const some = mix_at(model, request, 40, 0.2, 1e9);
        Seconds const longer = some.mixed.total() - some.plain.total();
        double const delayed = 1 - std::pow(1 - some.share, stages);
        CHECK((some.mean - plain.mean) / longer == Approx(delayed).epsilon(0.03));
        CHECK(some.own_pace == Approx((plain.mean + some.share * longer) / some.mean).epsilon(0.03));
    }
}

TEST_CASE("serving: an open loop at a trickle is a request alone, and one above the capacity is saturated") {
    IterationModel const model(served("llama-3.1-8b", "h100-sxm"));
    RequestShape const request{.prompt = 1024, .output = 128};
    ServingEstimate const alone = closed_loop(model, request, 1);
    ServingEstimate const trickle = open_loop(model, request, 1e-3);
    CHECK(trickle.tpot / alone.tpot == Approx(1).epsilon(0.05));
    for (double const rate : {1e-12, 1e-20, 1e-40}) {
        ServingEstimate const rare = open_loop(model, request, rate);
        CAPTURE(rate);
        CHECK(rare.tpot / alone.tpot == Approx(1).epsilon(0.05));
        CHECK(rare.ttft.total() / alone.ttft.total() == Approx(1).epsilon(0.1));
        CHECK(rare.requests_per_s == rate);
    }
    double const capacity = serving_capacity(model, request);
    CHECK_FALSE(open_loop(model, request, 0.9 * capacity).saturated);
    CHECK(open_loop(model, request, 1.1 * capacity).saturated);
    ServingEstimate const half = open_loop(model, request, 0.5 * capacity);
    CHECK(half.tpot > trickle.tpot);
    CHECK(half.requests_per_s == Approx(0.5 * capacity));
}

TEST_CASE("serving: over drawn loads a higher rate, longer prompts and fewer places never make anything better") {
    std::mt19937 draw(fixtures::seeded(5));
    auto const among = [&](auto const& list) { return list[draw() % list.size()]; };
    auto const power = [&](double low, double high) {
        return std::round(std::exp2(std::uniform_real_distribution(low, high)(draw)));
    };
    for (int i = 0; i < 40; ++i) {
        ServingPlan plan;
        plan.pp = among(std::vector<std::int64_t>{1, 1, 2});
        plan.max_batch = among(std::vector<std::int64_t>{16, 64, 256});
        plan.max_batched_tokens = among(std::vector<std::int64_t>{2048, 8192});
        ServingCase what = served("llama-3.1-8b", among(std::vector{"h100-sxm", "l40s"}), plan);
        what.engine = find_engine(among(std::vector{"vllm", "sglang", "tensorrt-llm", "deepspeed"}), "test");
        RequestShape const request{.prompt = power(6, 13), .output = power(2, 10)};
        IterationModel const model(what);
        double const capacity = serving_capacity(model, request);
        CAPTURE(i, what.engine.name, plan.pp, plan.max_batch, plan.max_batched_tokens, request.prompt, request.output);
        ServingEstimate last;
        for (double const share : {0.05, 0.2, 0.4, 0.6, 0.8, 0.89, 0.97}) {
            ServingEstimate const e = open_loop(model, request, share * capacity);
            CAPTURE(share);
            CHECK(e.near_capacity() == (share > e.trusted));
            CHECK((plan.pp == 1 || e.trusted < trusted_use));
            CHECK(e.ttft.total() >= 0.98 * last.ttft.total());
            CHECK(e.decodes >= 0.99 * last.decodes);
            // Full batches take their prompts together; where these go first a batch fills early, so that more arrivals
            // may make it faster (the simulation does the same). So do those of pipelines, near their capacity.
            if (what.engine.prompts == PromptOrder::mixed && (plan.pp == 1 || share < 0.95))
                CHECK(e.tpot >= 0.99 * last.tpot);
            last = e;
        }
        ServingEstimate const usual = open_loop(model, request, 0.7 * capacity);
        RequestShape const shorter{.prompt = std::round(0.7 * request.prompt), .output = request.output};
        CHECK(serving_capacity(model, shorter) >= 0.99 * capacity);
        CHECK(open_loop(model, shorter, 0.7 * capacity).ttft.total() <= 1.02 * usual.ttft.total());
        what.plan.max_batch *= 2;
        IterationModel const roomier(what);
        CHECK(serving_capacity(roomier, request) >= 0.95 * capacity);
        CHECK_FALSE(open_loop(roomier, request, 0.9 * capacity).saturated);
    }
}

TEST_CASE("serving: prompts bound the capacity where answers are short, whatever their length", "[INV-15]") {
    IterationModel const model(served("llama-3.1-8b", "h100-sxm"));
    double last = serving_capacity(model, {.prompt = 4000, .output = 1});
    for (double const output : {2.0, 3.0, 4.0, 8.0, 64.0}) {
        CAPTURE(output);
        double const capacity = serving_capacity(model, {.prompt = 4000, .output = output});
        CHECK(capacity <= last * 1.005);  // answers of one token have a formula of their own
        last = capacity;
    }
}

TEST_CASE("serving: an iteration has no more tokens than its budget, so a small one serves less") {
    double last = 0;
    for (std::int64_t const budget : {256, 257, 300, 384, 512, 2048}) {
        CAPTURE(budget);
        ServingCase const what = served("llama-3.1-70b", "h100-sxm", {.tp = 4, .max_batched_tokens = budget});
        IterationModel const model(what);
        RequestShape const request{.prompt = 1024, .output = 256};
        double const capacity = serving_capacity(model, request);
        // Every iteration takes at least as long as one with a single token.
        double const tokens = capacity * (request.prompt + request.output - 1);
        CHECK(tokens * (model(decodes(1, 1024)).total() / units::s) <= static_cast<double>(budget));
        CHECK(capacity >= 0.95 * last);  // prompts are cut into whole chunks
        last = capacity;
    }
}

TEST_CASE("serving: stages have whole layers, as each engine splits them, that differ by one at most") {
    using Layers = std::vector<std::int64_t>;
    CHECK(stage_layers(61, 4, LongerStages::before_last) == Layers{15, 15, 16, 15});
    CHECK(stage_layers(22, 4, LongerStages::before_last) == Layers{5, 6, 6, 5});
    CHECK(stage_layers(5, 3, LongerStages::before_last) == Layers{2, 2, 1});
    CHECK(stage_layers(61, 4, LongerStages::last) == Layers{15, 15, 15, 16});
    CHECK(stage_layers(61, 4, LongerStages::first) == Layers{16, 15, 15, 15});
    for (LongerStages const longer : {LongerStages::first, LongerStages::last, LongerStages::before_last})
        for (std::int64_t layers = 1; layers < 130; layers += 7)
            for (std::int64_t pp = 1; pp <= std::min<std::int64_t>(layers, 16); ++pp) {
                Layers const stages = stage_layers(layers, pp, longer);
                CAPTURE(layers, pp);
                CHECK(static_cast<std::int64_t>(stages.size()) == pp);
                CHECK(std::accumulate(stages.begin(), stages.end(), std::int64_t{0}) == layers);
                auto const [least, most] = std::minmax_element(stages.begin(), stages.end());
                CHECK(*most - *least == (layers % pp == 0 ? 0 : 1));
            }
}

TEST_CASE("serving: the stage with the most layers sets the pace of a pipeline and holds the most memory") {
    ServingPlan plan;
    plan.pp = 1;
    ServingCase const whole = served("llama-3.1-8b", "h100-sxm", plan);
    ServingMemory const all = serving_memory(whole);
    IterationLoad const prompt{.prefill_tokens = 4096, .samples = 1};
    for (std::int64_t const pp : {3, 5, 7, 12}) {
        plan.pp = pp;
        ServingCase what = served("llama-3.1-8b", "h100-sxm", plan);
        double const most = static_cast<double>((32 + pp - 1) / pp);
        for (LongerStages const longer : {LongerStages::first, LongerStages::last, LongerStages::before_last}) {
            what.engine.longer_stages = longer;
            CAPTURE(pp, static_cast<int>(longer));
            IterationModel const model(what);
            CHECK(model.memory().cache_per_token.base() == Approx(all.cache_per_token.base() * most / 32));
            CHECK(model.memory().weights > all.weights * (most / 32) * 0.8);
            IterationTime const time = model(prompt);
            double const layers = (time.device() - time.head).base();
            double const tail = layers * static_cast<double>(stage_layers(what).back()) / 32 + time.head.base();
            CHECK(model.at_slowest_stage(time).base() == Approx(std::max(layers * most / 32, tail) + time.host.base()));
        }
    }
}

TEST_CASE("serving: weights of all stages are those of the model, with a copy of a tied output matrix") {
    for (char const* name : {"llama-3.1-8b", "llama-3.2-1b"}) {
        ServingCase what = served(name, "h100-sxm");
        double const whole = serving_memory(what).weights.base();
        what.plan.pp = what.model.layer_count();  // a stage a layer: an end with its table is the fullest
        double const embedding = 2 * static_cast<double>(total_count(embedding_parameters(what.model)));
        double const layer = 2 * static_cast<double>(total_count(layer_parameters(what.model, what.model.layers[0])));
        CAPTURE(name);
        CHECK(serving_memory(what).weights.base() == Approx(embedding + layer).epsilon(0.001));
        CHECK(whole > serving_memory(what).weights.base());
    }
}

TEST_CASE("serving: a static batch gives as many tokens as it was asked for over its whole time") {
    IterationModel const model(served("llama-2-7b", "a100-sxm-80gb"));
    ServingEstimate const e = static_batch(model, {.prompt = 128, .output = 128}, 16);
    CHECK(e.output_tokens_per_s * (e.latency / units::s) == Approx(16 * 128.0));
    CHECK(e.latency / units::s == Approx((e.ttft.total() + 127 * e.tpot) / units::s));
}

TEST_CASE("serving: a prompt is as long in a batch of its own as alone in a loop, whatever the stages and groups") {
    RequestShape const request{.prompt = 3000, .output = 100};
    for (char const* engine : {"vllm", "sglang"})
        for (std::int64_t const pp : {1, 2, 4})
            for (std::int64_t const attention_dp : {1, 2}) {
                ServingPlan plan;
                plan.pp = pp;
                plan.attention_dp = attention_dp;
                ServingCase what = served("llama-3.1-8b", "h100-sxm", plan);
                what.engine = find_engine(engine, "test");
                IterationModel const model(what);
                auto const groups = static_cast<double>(pp * attention_dp);
                Seconds const alone = closed_loop(model, request, 1).ttft.prefill;
                CAPTURE(engine, pp, attention_dp);
                for (double const sequences : {1.0, groups}) {
                    ServingEstimate const batch = static_batch(model, request, sequences);
                    CHECK(batch.ttft.prefill.base() == Approx(alone.base()).epsilon(0.02));
                    CHECK(batch.output_tokens_per_s * (batch.latency / units::s) == Approx(sequences * request.output));
                }
                CHECK(static_batch(model, request, groups + 1).ttft.prefill > 1.5 * alone);
            }
}

TEST_CASE("serving: an engine that has prompts first does not cut one that is alone, however few tokens it takes") {
    RequestShape const request{.prompt = 4000, .output = 100};
    for (std::int64_t const pp : {1, 2}) {
        auto const alone = [&](char const* engine, std::int64_t limit) {
            ServingPlan plan;
            plan.pp = pp;
            plan.max_batched_tokens = limit;
            ServingCase what = served("llama-3.1-8b", "h100-sxm", plan);
            what.engine = find_engine(engine, "test");
            return closed_loop(IterationModel(what), request, 1).ttft;
        };
        CAPTURE(pp);
        CHECK(alone("sglang", 512).prefill.base() == Approx(alone("sglang", 8192).prefill.base()).epsilon(0.1));
        CHECK(alone("sglang", 512).host.base() == Approx(alone("sglang", 8192).host.base()).epsilon(0.1));
        CHECK(alone("vllm", 512).host > 4 * alone("vllm", 8192).host);
    }
}

TEST_CASE("serving memory: weights are the parameters, split by the plan; the cache is replicated beyond its heads") {
    ModelSpec const model = find_model("llama-3.1-70b");
    double const all = 2.0 * static_cast<double>(count_parameters(model).total);
    ServingMemory const one = serving_memory(served("llama-3.1-70b", "h100-sxm"));
    CHECK(one.weights.base() == Approx(all).epsilon(1e-6));
    CHECK_FALSE(one.fits());
    ServingPlan plan;
    plan.tp = 8;
    ServingMemory const eight = serving_memory(served("llama-3.1-70b", "h100-sxm", plan));
    CHECK(eight.weights.base() == Approx(all / 8).epsilon(0.001));  // norms are whole on every rank
    CHECK(eight.cache_per_token.base() == Approx(one.cache_per_token.base() / 8));
    plan.tp = 16;  // eight key-value heads
    CHECK(serving_memory(served("llama-3.1-70b", "h100-sxm", plan)).cache_per_token == eight.cache_per_token);
    plan.tp = 8;
    plan.cache = CacheFormat::fp8;
    CHECK(serving_memory(served("llama-3.1-70b", "h100-sxm", plan)).cache_per_token.base() ==
          Approx(eight.cache_per_token.base() / 2));
    plan.cache = CacheFormat::int8;  // as many bytes
    CHECK(serving_memory(served("llama-3.1-70b", "h100-sxm", plan)).cache_per_token.base() ==
          Approx(eight.cache_per_token.base() / 2));
    plan.cache = CacheFormat::int4;
    CHECK(serving_memory(served("llama-3.1-70b", "h100-sxm", plan)).cache_per_token.base() ==
          Approx(eight.cache_per_token.base() / 4));
    plan.weights = "int4-weights";
    CHECK(serving_memory(served("llama-3.1-70b", "h100-sxm", plan)).weights < 0.3 * eight.weights);
    ServingMemory const latent = serving_memory(served("deepseek-v3", "h200-sxm", {.tp = 8, .weights = "fp8"}));
    CHECK(latent.cache_per_token.base() == Approx(61 * 576 * 2.0));  // 512 + 64 values, whole on every rank
}

TEST_CASE("serving: weights in one byte never make a decode slower than those in two, however thin the shards") {
    for (char const* cluster : {"h100-sxm", "h200-sxm"})
        for (std::int64_t const tp : {1, 2, 4, 8})
            for (double const batch : {1.0, 8.0, 64.0}) {
                CAPTURE(cluster, tp, batch);
                IterationModel const wide(served("qwen3-32b", cluster, {.tp = tp}));
                IterationModel const narrow(served("qwen3-32b", cluster, {.tp = tp, .weights = "fp8"}));
                // Kernels of both kinds were measured apart: within a tenth at shapes where neither reads much.
                CHECK(narrow(decodes(batch, 800)).total() < 1.1 * wide(decodes(batch, 800)).total());
            }
}

TEST_CASE("serving: a short prompt waits for its kernels to be launched, a long one and decodes do not") {
    ServingCase slow = served("llama-3.1-8b", "h100-sxm");
    slow.engine.prompt_launch.value = 200 * units::us;
    ServingCase quick = slow;
    quick.engine.prompt_launch.value = {};
    IterationModel const launched(slow);
    IterationModel const captured(quick);
    auto const prompt = [](double tokens) { return IterationLoad{.prefill_tokens = tokens, .samples = 1}; };
    // 32 layers of at least eight kernels: norms, products, rotary embedding, attention, activation.
    CHECK(launched(prompt(16)).device() > 32 * 8 * (200 * units::us));
    CHECK(launched(prompt(16)).device() > 5 * captured(prompt(16)).device());
    CHECK(launched(prompt(8192)).device() < 1.1 * captured(prompt(8192)).device());
    CHECK(launched(prompt(64)).device() >= launched(prompt(16)).device() * (1 - 1e-9));
    CHECK(launched(decodes(8, 500)).total() == captured(decodes(8, 500)).total());
}

TEST_CASE("serving: short prompts wait for their experts to be launched as well, dense models and decodes do not") {
    auto const with_launch = [](char const* model, Seconds launch) {
        ServingCase what = served(model, "h200-sxm", {.tp = 8, .weights = "fp8"});
        what.engine.prompt_launch.value = {};
        what.engine.expert_launch.value = launch;
        return IterationModel(what);
    };
    IterationLoad const prompt{.prefill_tokens = 16, .samples = 1};
    Seconds const launch = 2 * units::ms;
    IterationModel const experts = with_launch("deepseek-v3", launch);
    CHECK(experts(prompt).device() > 58 * launch);  // 58 of 61 layers have experts
    CHECK(experts(prompt).device() < 58 * launch + with_launch("deepseek-v3", {})(prompt).device());
    CHECK(experts(decodes(8, 500)).total() == with_launch("deepseek-v3", {})(decodes(8, 500)).total());
    CHECK(with_launch("llama-3.1-70b", launch)(prompt).total() == with_launch("llama-3.1-70b", {})(prompt).total());
}

TEST_CASE("serving: products that nobody tuned bind by their arithmetic, at the scale of the engine") {
    ServingCase what = served("llama-3.1-8b", "mi300x");
    what.engine.gemm_compute_scale.value = 1;
    IterationModel const tuned(what);
    what.engine.gemm_compute_scale.value = 50;
    IterationModel const untuned(what);
    CHECK(untuned(decodes(1, 500)).gemm == tuned(decodes(1, 500)).gemm);  // reads weights
    // 6.98e9 parameters of layers, 1,307 TFLOP/s.
    CHECK(untuned(decodes(64, 500)).gemm.in(units::ms) == Approx(50 * 64 * 2 * 6.98e9 / 1307e12 * 1e3).epsilon(0.01));
    CHECK(untuned(decodes(128, 500)).gemm / untuned(decodes(64, 500)).gemm == Approx(2));
    CHECK(untuned(decodes(64, 500)).decode == tuned(decodes(64, 500)).decode);
}

TEST_CASE("serving: rounding op by op is added to every product that is rounded for, and to no other") {
    auto const added = [](char const* weights) {
        ServingCase what = served("llama-3.1-8b", "mi300x", {.weights = weights});
        IterationModel const quick(what);
        what.engine.rounding_overhead.value = 100 * units::us;
        return (IterationModel(what)(decodes(4, 500)).gemm - quick(decodes(4, 500)).gemm).in(units::ms);
    };
    CHECK(added("fp8") == Approx(32 * 4 * 0.1));  // query-key-value, output, gate and up, down
    CHECK(added("bf16") == Approx(0));
}

TEST_CASE("serving: an fp8 cache is widened bit by bit where the device has no fp8, and only there") {
    auto const decode = [](char const* cluster, CacheFormat cache, double widening) {
        ServingCase what = served("llama-3.1-8b", cluster, {.cache = cache});
        what.engine.fp8_widening.value = widening;
        return IterationModel(what)(decodes(64, 1000)).decode;
    };
    // 32 layers, keys and values of 8 heads of 128; 19.5 TFLOP/s are 9.75e12 operations a second.
    double const values = 64.0 * 1000 * 32 * 2 * 8 * 128;
    double const scale = find_engine("vllm", "test").decode_scale.value;
    CHECK(decode("a100-sxm", CacheFormat::fp8, 200).in(units::ms) ==
          Approx(scale * values * 200 / 9.75e12 * 1e3).epsilon(0.05));
    CHECK(decode("a100-sxm", CacheFormat::fp8, 200) > 5 * decode("a100-sxm", CacheFormat::bf16, 200));
    CHECK(decode("h100-sxm", CacheFormat::fp8, 200) == decode("h100-sxm", CacheFormat::fp8, 1));
    CHECK(decode("a100-sxm", CacheFormat::bf16, 200) == decode("a100-sxm", CacheFormat::bf16, 1));
}

TEST_CASE("serving: a narrow cache never makes a decode slower where the engine splits the keys of a sequence") {
    auto const decode = [](char const* cluster, char const* engine, CacheFormat cache, double batch, double context) {
        ServingCase what = served("llama-3.1-8b", cluster, {.weights = "fp8", .cache = cache});
        what.engine = find_engine(engine, "test");
        return IterationModel(what)(decodes(batch, context)).decode;
    };
    for (char const* cluster : {"l40s-pcie", "rtx-4090-box", "h100-sxm", "mi300x"})
        for (char const* engine : {"vllm", "sglang", "lmdeploy"})
            for (double const batch : {1, 2, 4, 16})
                for (double const context : {1000, 8000, 32000}) {
                    CAPTURE(cluster, engine, batch, context);
                    Seconds const wide = decode(cluster, engine, CacheFormat::bf16, batch, context);
                    Seconds const half = decode(cluster, engine, CacheFormat::fp8, batch, context);
                    Seconds const quarter = decode(cluster, engine, CacheFormat::int4, batch, context);
                    CHECK(half <= 1.000001 * wide);
                    CHECK(quarter <= 1.000001 * half);
                }
    // 32 layers of 67 MB and 0.864 TB/s: 2.5 ms, and no kernel of one engine's that leaves keys whole.
    Seconds const alone = decode("l40s-pcie", "vllm", CacheFormat::fp8, 1, 32000);
    CHECK(alone.in(units::ms) > 2.5);
    CHECK(alone < 0.6 * decode("l40s-pcie", "vllm", CacheFormat::bf16, 1, 32000));
    // That engine's own were measured so.
    CHECK(decode("l40s-pcie", "tensorrt-llm", CacheFormat::fp8, 1, 32000) > 5 * alone);
}

TEST_CASE("serving: prompts are multiplied in fp8 where the cache, the device and the engine's kernels are of it") {
    auto const variant = [](char const* cluster, char const* engine, CacheFormat cache,
                            char const* model = "llama-3.1-8b") {
        ServingCase what = served(model, cluster, {.cache = cache});
        what.engine = find_engine(engine, "test");
        return std::string(prompt_variant(what));
    };
    for (char const* cluster : {"h100-sxm", "b200-sxm", "l40s-pcie", "mi300x"})
        for (char const* engine : {"vllm", "vllm-v0", "sglang", "lmdeploy", "tensorrt-llm", "deepspeed", "other"})
            for (CacheFormat const cache : {CacheFormat::bf16, CacheFormat::int8, CacheFormat::int4})
                CHECK(variant(cluster, engine, cache) == "bf16/bf16");
    for (char const* cluster : {"h100-sxm", "b200-sxm"})
        for (char const* engine : {"vllm", "sglang", "tensorrt-llm"})
            CHECK(variant(cluster, engine, CacheFormat::fp8) == "bf16/fp8");
    for (char const* engine : {"vllm-v0", "lmdeploy", "deepspeed", "other"})
        CHECK(variant("h100-sxm", engine, CacheFormat::fp8) == "bf16/bf16");
    for (char const* cluster : {"l40s-pcie", "rtx-5090-box"}) {
        CHECK(variant(cluster, "tensorrt-llm", CacheFormat::fp8) == "bf16/fp8");
        CHECK(variant(cluster, "vllm", CacheFormat::fp8) == "bf16/bf16");  // FlashInfer widens there
    }
    CHECK(variant("mi300x", "vllm", CacheFormat::fp8) == "bf16/bf16");
    CHECK(variant("h200-sxm", "vllm", CacheFormat::fp8, "deepseek-v3") == "bf16/bf16");
    CHECK(variant("h200-sxm", "tensorrt-llm", CacheFormat::fp8, "deepseek-v3") == "bf16/fp8");

    auto const prompt = [](char const* cluster, char const* engine, CacheFormat cache) {
        ServingCase what = served("llama-3.1-8b", cluster, {.cache = cache});
        what.engine = find_engine(engine, "test");
        return IterationModel(what).prefill_attention(0, 16000).base();
    };
    double const wide = prompt("h100-sxm", "lmdeploy", CacheFormat::bf16);
    CHECK(prompt("h100-sxm", "lmdeploy", CacheFormat::int8) == wide);
    CHECK(prompt("h100-sxm", "lmdeploy", CacheFormat::int4) == wide);
    CHECK(prompt("mi300x", "vllm", CacheFormat::fp8) == prompt("mi300x", "vllm", CacheFormat::bf16));
    CHECK(prompt("h100-sxm", "vllm", CacheFormat::fp8) < 0.8 * prompt("h100-sxm", "vllm", CacheFormat::bf16));
}

TEST_CASE("serving: guesses that are checked beside decodes take no launches, and less than as many decode steps") {
    auto const [model, cluster] = GENERATE(table<char const*, char const*>(
        {{"llama-3.1-8b", "h100-sxm"}, {"qwen3-30b-a3b", "h200-sxm"}, {"gpt-oss-20b", "b200-sxm"}}));
    for (char const* const engine : {"vllm", "sglang", "tensorrt-llm"})
        for (double const sequences : {1, 4, 16})
            for (double const guesses : {1, 4}) {
                ServingCase what = served(model, cluster);
                what.engine = find_engine(engine, "test");
                IterationModel const iteration(what);
                IterationLoad load = decodes(sequences, 500);
                Seconds const plain = iteration(load).total();
                load.guesses = guesses * sequences;
                load.samples += load.guesses;
                CAPTURE(model, engine, sequences, guesses, iteration(load).total() / plain);
                CHECK(iteration(load).total() >= plain);
                CHECK(iteration(load).total() < (1 + guesses) * plain);
            }
}

TEST_CASE("serving: a shared expert costs what one more routed expert does, not kernels of its own") {
    ServingCase with = served("deepseek-v3", "h200-sxm", {.tp = 8, .weights = "fp8"});
    ServingCase without = with;
    without.model.moe->shared_intermediate = 0;
    IterationModel const shared(with);
    IterationModel const routed(without);
    // Of 257 experts that every long batch reads one is shared, and every token has nine instead of eight.
    auto const prompt = [](double tokens) { return IterationLoad{.prefill_tokens = tokens, .samples = 1}; };
    double const read = shared(decodes(200, 100)).gemm / routed(decodes(200, 100)).gemm;
    double const multiplied = shared(prompt(8000)).gemm / routed(prompt(8000)).gemm;
    CHECK(read > 1);
    CHECK(read < 1.02);
    CHECK(multiplied > 1.02);
    CHECK(multiplied < 1.0 + 1.0 / 8);
}

TEST_CASE("serving: experts' scale stretches what they multiply, not the time of a single row") {
    ServingCase plain = served("mixtral-8x7b", "h100-sxm", {.tp = 8});
    plain.engine.expert_stream_scale.value = 0.1;
    plain.engine.expert_compute_scale.value = 1;
    ServingCase slow = plain;
    slow.engine.expert_compute_scale.value = 3;
    auto const prompt = [](double tokens) { return IterationLoad{.prefill_tokens = tokens, .samples = 1}; };
    IterationModel const once(plain);
    IterationModel const thrice(slow);
    CHECK(thrice(prompt(8000)).gemm > 2 * once(prompt(8000)).gemm);
    CHECK(thrice(decodes(1, 100)).gemm < 1.5 * once(decodes(1, 100)).gemm);
}

TEST_CASE("serving memory: SGLang keeps the states of recurrent layers in a pool of 0.9 of what its cache has") {
    ServingCase what = served("qwen3-next-80b-a3b", "h100-sxm", {.tp = 4});
    what.plan.max_batch = 100'000;
    what.engine = find_engine("sglang", "test");
    ServingMemory const apart = serving_memory(what);
    what.engine.window_cache = WindowCache::window;
    ServingMemory const together = serving_memory(what);
    CHECK(apart.state == together.state);
    CHECK((apart.cache + apart.state_pool).base() == Approx(together.cache.base()));
    CHECK(apart.state_pool / apart.cache == Approx(0.9).epsilon(0.01));
    CHECK(apart.shape.state_blocks == 0);
    CHECK(apart.shape.copied(0) * apart.cache_per_token == apart.state);
    CHECK(apart.longest() == Approx(apart.cache_tokens));
    what.engine.window_cache = WindowCache::pools;
    // Long requests are limited by the cache, short ones by a third of the states.
    CHECK(largest_batch(what, apart, 30000) == std::floor(apart.cache_tokens / 30000));
    CHECK(largest_batch(what, apart, 100) == std::floor(std::round(apart.state_pool / apart.state) / 3));
    CHECK(largest_batch(what, together, 30000) > 1.7 * largest_batch(what, apart, 30000));
    // Where nothing is recurrent there is no such pool.
    what.model = find_model("llama-3.1-8b");
    CHECK(serving_memory(what).state_pool == Bytes{});
}

TEST_CASE("serving: a checkpoint of gpt-oss in four bits keeps attention in two bytes") {
    ServingCase const kept = served("gpt-oss-120b", "h200-sxm", {.weights = "int4-weights"});
    CHECK(kept.model.only_experts_narrow);
    CHECK_FALSE(find_model("deepseek-v3").only_experts_narrow);
    ServingCase narrow = kept;
    narrow.model.only_experts_narrow = false;
    // 36 layers of 2880 x (4096 + 2 x 512) and 4096 x 2880 and a router of 2880 x 128: 0.97 G values at 2 - 0.516
    // bytes.
    double const values = 36.0 * 2880 * (4096 + 1024 + 4096 + 128);
    CHECK((serving_memory(kept).weights - serving_memory(narrow).weights).base() ==
          Approx(values * (2 - 0.5 - 2.0 / 128)).epsilon(1e-6));
}

TEST_CASE("serving: a request alone does not wait for iterations, one of two waits for two that are planned ahead") {
    ServingCase what = served("llama-3.1-8b", "h100-sxm");
    what.engine.planning = IterationPlanning::ahead;
    IterationModel const model(what);
    RequestShape const request{.prompt = 500, .output = 200};
    CHECK(closed_loop(model, request, 1).ttft.queue == Seconds{});
    CHECK(open_loop(model, request, 1e-4).ttft.queue < 0.1 * units::ms);
    ServingEstimate const two = closed_loop(model, request, 2);
    CHECK(two.ttft.queue.base() == Approx(1.5 * two.tpot.base()).epsilon(0.01));
    what.engine.planning = IterationPlanning::in_turn;
    CHECK(closed_loop(IterationModel(what), request, 2).ttft.queue < 0.4 * two.ttft.queue);
}

TEST_CASE("serving: the device waits for the whole time of the host in turn, for what its own does not hide ahead") {
    ServingCase what = served("llama-3.1-8b", "h100-sxm");
    what.engine.host_per_iteration.value = 2 * units::ms;
    what.engine.host_per_sequence.value = 50 * units::us;
    IterationLoad const load{.decodes = 20, .decode_context = 20000, .samples = 20};
    what.engine.planning = IterationPlanning::in_turn;
    IterationTime const in_turn = IterationModel(what)(load);
    CHECK(in_turn.host.base() == Approx(0.003));
    what.engine.planning = IterationPlanning::ahead;
    IterationTime const ahead = IterationModel(what)(load);
    CHECK(ahead.device() == in_turn.device());
    CHECK(ahead.total().base() == Approx(std::hypot(ahead.device().base(), 0.003)));
    CHECK(ahead.total() > std::max(ahead.device(), 3 * units::ms));
}

TEST_CASE("serving memory: sliding windows hold more long requests where the engine frees what they left behind") {
    ServingCase freeing = served("gpt-oss-20b", "h100-sxm");
    ServingCase keeping = freeing;
    keeping.engine.window_cache = WindowCache::whole;
    freeing.plan.max_batch = keeping.plan.max_batch = 10000;
    ServingMemory const less = serving_memory(freeing);
    ServingMemory const more = serving_memory(keeping);
    CHECK(less.cache_tokens == more.cache_tokens);
    CHECK(largest_batch(freeing, less, 100) == largest_batch(keeping, more, 100));
    CHECK(largest_batch(freeing, less, 30000) / largest_batch(keeping, more, 30000) == Approx(2).epsilon(0.06));
    CHECK(less.longest() > 1.9 * more.longest());
}

TEST_CASE("serving memory: recurrent layers keep one state of every sequence, whatever its length") {
    // 36 layers of 32 states of 128 x 128 and three tokens of 8,192 channels, all in two bytes under vLLM.
    ServingCase what = served("qwen3-next-80b-a3b", "h200-sxm", {.tp = 2});
    what.plan.max_batch = 8192;
    ServingMemory const memory = serving_memory(what);
    CHECK(memory.state.base() == 36 * (2 * 32 * 128 * 128 + 2 * 3 * 8192) / 2);
    CHECK(memory.cache_per_token.base() == 12 * 2 * 2 * 256 * 2 / 2);  // 12 layers of attention
    double const block = memory.cache_per_token.base() * static_cast<double>(what.plan.block_tokens);
    CHECK(memory.shape.state_blocks == static_cast<std::int64_t>(std::ceil(memory.state.base() / block)));
    for (double const tokens : {16.0, 4096.0}) {
        Bytes const request = memory.shape.kept(tokens) * memory.cache_per_token;
        CHECK(request.base() == Approx(tokens * memory.cache_per_token.base() + memory.state.base()).margin(block));
        CHECK(largest_batch(what, memory, tokens) ==
              Approx(memory.cache / request).margin(1 + 0.001 * (memory.cache / request)));
        CHECK(memory.shape.longest(memory.shape.kept(tokens)) == Approx(tokens));
    }
    CHECK(memory.shape.blocks(0) == 0);
    CHECK(memory.shape.blocks(1) == memory.shape.state_blocks + 1);
    // A decode step reads and writes every state, however little there is to attend to.
    IterationModel const model(what);
    double const rate = what.cluster.accelerator.memory_bandwidth.value.base();
    CHECK(model(decodes(64, 1)).decode.base() > 2.0 * 64 * 36 * 2 * 32 * 128 * 128 / 2 / rate);
}

TEST_CASE(
    "serving: states of recurrent layers are in the model's type under vLLM, in fp32 where a config or SGLang says") {
    auto const bytes_of = [](char const* model, char const* engine) {
        ServingCase what = served(model, "h200-sxm", {.tp = 2});
        what.engine = find_engine(engine, "test");
        return state_value_bytes(what);
    };
    for (char const* model : {"qwen3-next-80b-a3b", "granite-4.0-h-small"}) {
        CHECK(bytes_of(model, "vllm") == 2);
        CHECK(bytes_of(model, "tensorrt-llm") == 2);
        CHECK(bytes_of(model, "sglang") == 4);
    }
    for (char const* model : {"nemotron-h-8b", "nemotron-3-nano-30b-a3b", "qwen3.5-27b"})
        CHECK(bytes_of(model, "vllm") == 4);
    ServingCase what = served("qwen3-next-80b-a3b", "h200-sxm", {.tp = 2});
    what.engine = find_engine("sglang", "test");
    CHECK(serving_memory(what).state.base() == 36 * (4 * 32 * 128 * 128 + 2 * 3 * 8192) / 2);
}

TEST_CASE("serving: a step that checks guesses writes a state after each, and vLLM keeps them all") {
    ServingCase const what = served("qwen3-next-80b-a3b", "h200-sxm", {.tp = 2});
    CHECK(states_of_request(what, 0) == 1);
    CHECK(states_of_request(what, 3) == 4);
    ServingCase other = what;
    other.engine = find_engine("sglang", "test");
    CHECK(states_of_request(other, 3) == 1);
    IterationModel const model(what);
    IterationLoad plain = decodes(64, 1);
    plain.samples = 64 * 4;
    IterationLoad checking = plain;
    checking.guesses = 64 * 3;
    double const rate = what.cluster.accelerator.memory_bandwidth.value.base();
    double const written = 3.0 * 64 * 36 * 2 * 32 * 128 * 128 / 2 / rate;
    CHECK((model(checking).decode - model(plain).decode).base() >= what.engine.decode_scale.value * written);
}

TEST_CASE("serving: sparse attention costs no less than its index, and less than all keys once a context is long") {
    // Every rank has the whole index: with tensor parallelism it would outweigh what a rank saves.
    ServingPlan const plan{.ep = 8, .attention_dp = 8, .weights = "fp8"};
    ServingCase const sparse = served("deepseek-v3.2", "h200-sxm", plan);
    ServingCase whole = sparse;
    whole.model.attention.index.reset();
    IterationModel const chosen(sparse);
    IterationModel const all(whole);
    // A cache of as many tokens as are chosen is read whole either way.
    CHECK(chosen(decodes(16, 2048)).decode.base() == Approx(all(decodes(16, 2048)).decode.base()).epsilon(0.02));
    CHECK(chosen(decodes(16, 100000)).decode < 0.6 * all(decodes(16, 100000)).decode);
    double const rate = sparse.cluster.accelerator.memory_bandwidth.value.base();
    CHECK(chosen(decodes(16, 100000)).decode.base() > 61.0 * 16 * 100000 * 132 / rate);
    // Prompts: the same up to what is chosen, then less than the square.
    CHECK(chosen.prefill_attention(0, 2048).base() == Approx(all.prefill_attention(0, 2048).base()));
    CHECK(chosen.prefill_attention(0, 131072) < 0.6 * all.prefill_attention(0, 131072));
    CHECK(chosen.prefill_attention(0, 4096) >= chosen.prefill_attention(0, 2048));
}

TEST_CASE("serving memory: experts are cut over the ranks of all attention groups, or divided over them") {
    auto const weights = [](ServingPlan const& plan) {
        return serving_memory(served("mixtral-8x7b", "h200-sxm", plan)).weights.base();
    };
    double const divided = weights({.ep = 8, .attention_dp = 8});
    CHECK(weights({.attention_dp = 8}) == Approx(divided));
    CHECK(weights({.tp = 2, .attention_dp = 4}) < divided);  // attention is cut as well
    CHECK(weights({.attention_dp = 2}) > 3 * divided);
    ServingPlan const eight{.attention_dp = 8, .weights = "fp8"};
    CHECK(serving_memory(served("deepseek-v3", "h200-sxm", eight)).fits());
    // Inside a chunk of experts every group's tokens have their part of each.
    auto const activations = [](std::int64_t groups, std::int64_t tokens) {
        ServingPlan const plan{.attention_dp = groups, .max_batched_tokens = tokens};
        return serving_memory(served("mixtral-8x7b", "h200-sxm", plan)).activations;
    };
    CHECK(activations(4, 8192) > activations(1, 8192));
    CHECK(activations(8, 8192) < 2.0 * activations(4, 8192));
}

TEST_CASE("serving: groups gather their tokens for experts that are cut over all ranks, and scatter the sums") {
    ServingCase what = served("mixtral-8x7b", "h200-sxm", {.tp = 2, .attention_dp = 4});
    what.engine.communication_scale.value = 1;
    auto const curve = [&](CollectiveKind kind, std::int64_t size, std::int64_t stride) {
        return collective_curve(what.cluster, kind, place_group(size, stride, what.cluster));
    };
    auto const hidden = [](double tokens) { return 2.0 * 4096 * tokens * units::B; };
    // After attention, after the experts, and of the embedding.
    Seconds const over_tp = 65 * curve(CollectiveKind::all_reduce, 2, 1).time(hidden(1024));
    Seconds const among_groups = 32 * (curve(CollectiveKind::all_gather, 4, 2).time(hidden(4096)) +
                                       curve(CollectiveKind::reduce_scatter, 4, 2).time(hidden(4096)));
    // Padded to the tokens of the busiest group, whatever those of others.
    for (double const elsewhere : {0.0, 3072.0}) {
        IterationLoad const load{.prefill_tokens = 1024, .samples = 1, .elsewhere = elsewhere};
        CHECK(IterationModel(what)(load).communication.base() == Approx((over_tp + among_groups).base()).epsilon(0.01));
    }
    what.plan.attention_dp = 1;
    CHECK(IterationModel(what)({.prefill_tokens = 1024, .samples = 1}).communication.base() ==
          Approx(over_tp.base()).epsilon(0.01));
}

TEST_CASE("serving: experts cut over all groups have the tokens of all, as divided ones do") {
    for (std::int64_t const ep : {1, 8}) {
        IterationModel const model(served("qwen3-235b-a22b", "h200-sxm", {.ep = ep, .attention_dp = 8}));
        // Four tokens touch a quarter of the experts, of the rank that waits longest less than half.
        IterationLoad load = decodes(4, 500);
        Seconds const alone = model(load).gemm;
        load.elsewhere = 7 * 4;
        CAPTURE(ep);
        CHECK(model(load).gemm > 1.2 * alone);
    }
}

TEST_CASE("touched_experts: one token touches top_k, many touch all, never more") {
    CHECK(touched_experts(256, 8, 1) == Approx(8));
    CHECK(touched_experts(256, 8, 1e5) == Approx(256));
    CHECK(touched_experts(8, 2, 2) == Approx(8 * (1 - 0.75 * 0.75)));
    CHECK(touched_experts(4, 4, 1) == 4);
}

TEST_CASE("serving: plans that a model cannot have are refused with what is wrong") {
    auto const refused = [](ServingPlan const& plan, char const* model, char const* part) {
        CHECK_THROWS_WITH(IterationModel(served(model, "h100-sxm", plan)), contains(part));
    };
    refused({.tp = 7}, "llama-3.1-70b", "does not divide the 64 attention heads");
    refused({.tp = 0}, "llama-3.1-70b", "--tp: 0");
    refused({.pp = 81}, "llama-3.1-70b", "--pp: 81 (1 to 80)");
    refused({.tp = 2, .ep = 2}, "llama-3.1-70b", "has no experts");
    refused({.tp = 2, .ep = 3}, "mixtral-8x7b", "does not divide the 8 experts");
    refused({.tp = 2, .ep = 4}, "mixtral-8x7b", "tp x attention-dp");
    refused({.weights = "fp9"}, "llama-3.1-70b", "did you mean");
    refused({.memory_utilisation = 1.5}, "llama-3.1-70b", "above 0, up to 1");
    refused({.expert_imbalance = 0.5}, "mixtral-8x7b", "1 to 1,");
    refused({.expert_imbalance = 1.5}, "mixtral-8x7b", "--ep");
    refused({.tp = 4, .ep = 4, .expert_imbalance = 4.1}, "mixtral-8x7b", "1 to 4,");
    refused({.max_batch = 256, .max_batched_tokens = 255}, "llama-3.1-70b", "--max-batched-tokens: 255 are fewer");
    refused({.attention_dp = 2, .max_batch = 256, .max_batched_tokens = 127}, "llama-3.1-70b", "of each of 2 groups");
    CHECK_NOTHROW(IterationModel(served("mixtral-8x7b", "h100-sxm", {.tp = 4, .ep = 4, .expert_imbalance = 4})));
    ServingCase groups = served("deepseek-v3", "h200-sxm", {.tp = 2, .ep = 16, .attention_dp = 8});
    groups.engine = find_engine("tensorrt-llm", "test");
    CHECK_THROWS_WITH(IterationModel(groups), contains("--tp 1 --attention-dp 16"));
    ServingCase odd = served("qwen3-next-80b-a3b", "h100-sxm", {.tp = 4});
    odd.model.recurrent->key_heads = 6;
    CHECK_THROWS_WITH(IterationModel(odd), contains("6 key heads"));
    odd.model.recurrent->heads = 30;
    CHECK_THROWS_WITH(IterationModel(odd), contains("30 recurrent heads"));
    CHECK_THROWS_WITH(closed_loop(IterationModel(served("llama-3.1-70b", "h100-sxm")), {.prompt = 10, .output = 10}, 1),
                      contains("does not fit the cache"));
}

TEST_CASE("serving: a decode iteration never takes less for more sequences or longer ones, on any device") {
    std::mt19937_64 random(fixtures::seeded(5));
    for (char const* machine : {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm", "l40s-pcie", "mi300x"})
        for (char const* name : {"llama-3.1-8b", "qwen2.5-7b", "gpt-oss-20b", "llama-2-7b"}) {
            IterationModel const model(served(name, machine));
            for (int i = 0; i < 200; ++i) {
                double const batch = std::exp2(std::uniform_real_distribution(0.0, 8.0)(random));
                double const context = std::exp2(std::uniform_real_distribution(4.0, 15.0)(random));
                CAPTURE(machine, name, batch, context);
                Seconds const time = model(decodes(batch, context)).decode;
                CHECK(model(decodes(batch, 1.3 * context)).decode >= 0.999999 * time);
                CHECK(model(decodes(1.3 * batch, context)).decode >= 0.999999 * time);
            }
        }
}

TEST_CASE("serving: sums of a few tokens take no longer on Blackwell than on Hopper") {
    for (char const* name : {"llama-3.1-70b", "gpt-oss-120b", "deepseek-v3"})
        for (double const batch : {1.0, 4.0, 16.0}) {
            ServingPlan plan{.tp = 8};
            if (std::string_view(name) == "deepseek-v3") plan.weights = "fp8";
            CAPTURE(name, batch);
            Seconds const hopper = IterationModel(served(name, "h200-sxm", plan))(decodes(batch, 1024)).total();
            for (char const* machine : {"b200-sxm", "gb200-nvl72", "gb300-nvl72"})
                CHECK(IterationModel(served(name, machine, plan))(decodes(batch, 1024)).total() < hopper);
        }
}

TEST_CASE("serving: an engine whose kernels read once per head decodes groups more slowly, and single heads alike") {
    for (char const* machine : {"a100-sxm-80gb", "h100-sxm", "mi300x"})
        for (char const* name : {"llama-3.1-8b", "qwen2.5-7b", "llama-2-7b", "deepseek-v2-lite"}) {
            ServingCase what = served(name, machine);
            IterationLoad const load = decodes(128, 2048);
            Seconds const shared = IterationModel(what)(load).decode;
            what.engine.grouped_heads = GroupedHeads::apart;
            Seconds const apart = IterationModel(what)(load).decode;
            CAPTURE(machine, name);
            bool const grouped = what.model.attention.heads > what.model.attention.kv_heads;
            CHECK((grouped ? apart > shared : apart.base() == shared.base()));
        }
}

TEST_CASE("serving: the products that make both latents are one, as wide as both") {
    // With eight ranks the product that all of them run whole grows more with the query's latent than the divided one.
    ServingCase what = served("deepseek-v3", "h200-sxm", {.tp = 8, .weights = "fp8"});
    auto const prefill = [&](std::int64_t rank) {
        what.model.attention.latent->query_rank = rank;
        return IterationModel(what)({.prefill_tokens = 8192}).total();
    };
    Seconds const longer = prefill(1536) - prefill(512);
    double const flops = 2.0 * 8192 * 61 * 1024 * (7168 + 128 * 192 / 8.0);
    AcceleratorProfile const& device = what.cluster.accelerator;
    Seconds const at_peak = flops * units::flop / device.peak_of(Precision::fp8).value;
    CHECK(longer > at_peak);
    CHECK(longer < 5 * at_peak);
}

TEST_CASE("serving: a prompt beyond the token limit that is processed whole takes what it takes under any limit") {
    for (char const* name : {"llama-3.1-8b", "mixtral-8x7b"})
        for (double const prompt : {4000.0, 20000.0}) {
            Seconds shortest, longest;
            for (std::int64_t const limit : {2, 16, 512, 2048, 16384}) {
                ServingPlan plan;
                plan.max_batch = 2;
                plan.max_batched_tokens = limit;
                IterationModel const model(served(name, "b200-sxm", plan));
                Seconds const time = model({.prefill_tokens = prompt, .samples = 1}).gemm;
                CAPTURE(name, prompt, limit);
                CHECK(time > model({.prefill_tokens = prompt / 2, .samples = 1}).gemm);
                shortest = limit == 2 ? time : std::min(shortest, time);
                longest = std::max(longest, time);
            }
            CHECK(longest.base() < 1.1 * shortest.base());
        }
}

TEST_CASE("serving: batches of a pipeline go on at the pace of the slowest, as batch by batch") {
    using units::ms;
    std::mt19937 draw(fixtures::seeded(3));
    for (std::size_t const batches : {2U, 4U})
        for (double const none : {0.95, 0.6, 0.2}) {
            PromptNumbers const numbers{.none = none, .prompts = 1.5, .most = 20};
            // Stages that are alike: an iteration takes 2 ms in each, and 3 ms for each prompt.
            auto const iteration = [&](double prompts) {
                Seconds const stage = (2 + 3 * prompts) * ms;
                return StagedTime{static_cast<double>(batches) * stage, stage};
            };
            PipelinePace const pace(static_cast<double>(batches) - 1, numbers, none, iteration(0), {1, iteration(1)},
                                    {20, iteration(20)});
            std::poisson_distribution<int> number(0.8742);  // mean of those that are not 0: 1.5
            std::vector<Seconds> ends(batches);
            Seconds free{};
            Seconds last{};
            constexpr std::size_t iterations = 100000;
            for (std::size_t i = 0; i < iterations; ++i) {
                int prompts = 0;
                if (std::bernoulli_distribution(1 - none)(draw))
                    while (prompts == 0)
                        prompts = number(draw);
                StagedTime const t = iteration(prompts);
                Seconds const start = std::max(ends[i % batches], free);
                free = start + t.stage;
                last = ends[i % batches] = std::max(start + t.total, last + t.stage);
            }
            CAPTURE(batches, none);
            double const rounds = static_cast<double>(iterations / batches);
            CHECK(pace.mean() / (last / rounds) == Approx(1).epsilon(0.1));
        }
}

TEST_CASE("serving: a prompt beyond the token limit takes as long alone, in a batch of one and at a trickle") {
    for (double const prompt : {8200.0, 9000.0, 16500.0, 40000.0}) {
        IterationModel const model(served("llama-3.1-8b", "h100-sxm"));
        RequestShape const request{.prompt = prompt, .output = 1};
        CAPTURE(prompt);
        double const alone = closed_loop(model, request, 1).ttft.total().base();
        CHECK(static_batch(model, request, 1).ttft.total().base() == Approx(alone));
        CHECK(open_loop(model, request, 1e-4).ttft.total().base() == Approx(alone).epsilon(0.01));
    }
}

TEST_CASE("serving: a token more of limit takes no larger tile of experts") {
    auto const capacity = [](std::int64_t limit) {
        ServingCase what = served("gpt-oss-20b", "h100-sxm", {.max_batch = 250, .max_batched_tokens = limit});
        what.engine = find_engine("tensorrt-llm", "test");
        return serving_capacity(IterationModel(what), {.prompt = 64, .output = 1000});
    };
    double const below = capacity(255);
    CHECK(capacity(256) > 0.96 * below);
    CHECK(capacity(257) > 0.98 * below);
}

TEST_CASE("serving: copies of experts take memory, and change the work of a rank by its tokens alone") {
    ServingPlan plan{.ep = 64, .attention_dp = 64};
    ServingCase const plain = served("deepseek-v3", "h100-sxm", plan);
    plan.redundant_experts = 64;
    ServingCase const copied = served("deepseek-v3", "h100-sxm", plan);
    auto const experts = [](ServingCase const& what) {
        double count = 0;
        for (LayerKind const kind : what.model.layers)
            for (Parameter const& p : layer_parameters(what.model, kind))
                if (p.sharding == Sharding::expert) count += static_cast<double>(p.count());
        return count;
    };
    double const added = (serving_memory(copied).weights - serving_memory(plain).weights).base();
    CHECK(added == Approx(2 * experts(plain) / 64 / 4));  // a quarter as many again, over 64 ranks, in two bytes
    // Many tokens: each rank multiplies as many rows as before, and reads one more group.
    IterationLoad const many{.prefill_tokens = 8192, .samples = 1, .elsewhere = 63 * 8192};
    double const ratio = IterationModel(copied)(many).gemm / IterationModel(plain)(many).gemm;
    CHECK(ratio >= 1);
    CHECK(ratio < 1.1);
    // Experts on more ranks than there are.
    plan = {.ep = 320, .attention_dp = 320, .max_batch = 512, .redundant_experts = 64};
    CHECK(IterationModel(served("deepseek-v3", "h100-sxm", plan))(many).total() > Seconds{});
}

TEST_CASE("serving: tokens go to experts over several domains once for each, inside of one once for each expert") {
    ServingPlan plan{.ep = 32, .attention_dp = 32, .weights = "fp8-block"};
    IterationLoad const load{.prefill_tokens = 8192, .samples = 1, .elsewhere = 31 * 8192};
    auto const communication = [&](ServingCase const& what) { return IterationModel(what)(load).communication; };
    ServingCase what = served("deepseek-v3", "h100-sxm", plan);
    CHECK(dispatcher_of(what) == Dispatcher::deduplicated);
    Seconds const usual = communication(what);
    what.plan.dispatcher = Dispatcher::deduplicated;
    CHECK(communication(what) == usual);
    what.plan.dispatcher = Dispatcher::all_to_all;
    CHECK(communication(what) > 1.5 * usual);
    // fp8 goes out in one byte and a share of a scale, and comes back in two.
    what.plan.dispatcher = Dispatcher::deduplicated;
    what.plan.weights = "bf16";
    CHECK(dispatched_bytes_per_value(what) == 2);
    CHECK(communication(what) > 1.2 * usual);
    CHECK(communication(what) < 2 / 1.5 * usual);
    what.plan = {.ep = 8, .attention_dp = 8};
    CHECK(dispatcher_of(what) == Dispatcher::all_to_all);
    what.plan = {.ep = 32, .attention_dp = 32};
    what.engine = find_engine("other", "test");
    CHECK(dispatcher_of(what) == Dispatcher::all_to_all);
    ServingCase const efa = served("deepseek-v3", "aws-p5", {.ep = 32, .attention_dp = 32});
    CHECK(dispatcher_of(efa) == Dispatcher::all_to_all);
}

TEST_CASE("serving: prompts in progress are in the cache beside what decodes") {
    IterationModel const model(served("llama-3.1-8b", "h100-sxm"));
    RequestShape const request{.prompt = 100000, .output = 100};
    ServingEstimate const open = open_loop(model, request, 0.1);
    CHECK(open.prompts == Approx(0.1 * ((open.ttft.host + open.ttft.prefill) / units::s)));
    CHECK(open.prompts > 0.5);
    double const tokens = open.decodes * 100050 + open.prompts * 100000;
    CHECK(open.cache_share == Approx(tokens / model.memory().cache_tokens).epsilon(0.01));
    // All of a loop decode, have a prompt in progress, or wait.
    ServingEstimate const loop = closed_loop(model, {.prompt = 2000, .output = 200}, 32);
    CHECK(loop.decodes + loop.prompts <= 32);
    // Sequences of one batch are counted once.
    CHECK(static_batch(model, {.prompt = 2000, .output = 200}, 8).prompts == 0);
}

TEST_CASE("serving: an engine that admits requests whole holds fewer at a time, by all of their tokens") {
    ServingCase what = served("llama-3.1-8b", "l40s");
    RequestShape const request{.prompt = 1000, .output = 2000};
    double const places = std::floor(serving_memory(what).cache_tokens / 3008);  // of whole blocks
    what.plan.max_batch = 1024;
    what.engine.admission = Admission::whole;
    ServingEstimate const whole = closed_loop(IterationModel(what), request, 1000);
    CHECK(whole.decodes + whole.prompts == Approx(places).epsilon(0.02));
    what.engine.admission = Admission::prompt;
    ServingEstimate const by_prompt = closed_loop(IterationModel(what), request, 1000);
    CHECK(by_prompt.decodes + by_prompt.prompts == Approx(1.5 * places).epsilon(0.02));
    CHECK(whole.tpot < by_prompt.tpot);
    CHECK(find_engine("tensorrt-llm", "test").admission == Admission::whole);
    CHECK(find_engine("vllm", "test").admission == Admission::prompt);
}

TEST_CASE("serving memory: scales of narrow weights are those of the format that they are stored in") {
    auto const weights = [](char const* run, char const* stored) {
        ServingPlan plan;
        plan.weights = run;
        plan.stored = stored;
        return serving_memory(served("gpt-oss-120b", "h200-sxm", plan)).weights / units::GB;
    };
    CHECK(weights("int4-weights", "mxfp4") == Approx(65.2).epsilon(0.005));  // as published: 65.2 GB
    CHECK(weights("fp4", "mxfp4") == weights("int4-weights", "mxfp4"));
    CHECK(weights("fp4", "") - weights("fp4", "mxfp4") == Approx(114.66 / 32).epsilon(0.005));
    CHECK(weights("int4-weights", "") < weights("int4-weights", "mxfp4"));
}
