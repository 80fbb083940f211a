#include "core/csv.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

using namespace sextant;

namespace {

Arguments quality(Arguments const& more, std::string const& model = "llama-3.1-8b",
                  std::string const& cluster = "h100-sxm") {
    return Arguments{"serve", "quality", "--model", model, "--cluster", cluster} + more;
}

Json choice(Json const& j, std::string const& weights, std::string const& cache) {
    for (Json const& c : j.at("choices"))
        if (c.at("weights") == weights && c.at("kv_cache") == cache) return c;
    FAIL("no " << weights << " " << cache);
    return {};
}

double error_of(Json const& c, char const* part) { return c.at(part).at("output_error").get<double>(); }

std::string const header =
    "bench,backend,device,driver,date,kernel,dtype,m,n,k,groups,batch,seq_q,seq_kv,heads,kv_heads,head_dim,causal,"
    "bytes,ranks,nodes,cache,launch,median_us,p10_us,p90_us,repeats,sm_clock_mhz,mem_clock_mhz,throttle,max_rel_error,"
    "tflops,gbps,note\n";

std::string row(std::string const& kernel, std::string const& dtype, std::string const& note) {
    return "accuracy,host,,,2026-01-01T00:00:00Z," + kernel + "," + dtype + ",,,,,,,,,,,,,,,hot,stream,,,,,,,,0.1,,," +
           note + "\n";
}
std::string const gemm_note =
    "rms_error=0.5; weights_rms_error=0.4; activations_rms_error=0.3; weights_overflow=0; weights_underflow=1; "
    "activations_overflow=0; activations_underflow=1; weights=2; activations=2";
std::string const cache_note =
    "rms_error=0.25; keys_rms_error=0.1; values_rms_error=0.1; overflow=0; underflow=0; elements=8";

}  // namespace

TEST_CASE("serve quality: fewer bits never take more memory and never err less", "[quality]") {
    Json const j = report(quality({}));
    CHECK(j.at("format") == "serving-quality");
    std::vector<std::string> const by_bits{"bf16", "fp8", "fp4"};
    for (std::size_t i = 1; i < by_bits.size(); ++i) {
        Json const wide = choice(j, by_bits[i - 1], "bf16");
        Json const narrow = choice(j, by_bits[i], "bf16");
        CHECK(narrow.at("weight_bytes_per_gpu") < wide.at("weight_bytes_per_gpu"));
        CHECK(error_of(narrow, "products") > error_of(wide, "products"));
    }
    Json const caches[] = {choice(j, "bf16", "bf16"), choice(j, "bf16", "fp8"), choice(j, "bf16", "int4")};
    for (std::size_t i = 1; i < 3; ++i) {
        CHECK(caches[i].at("kv_bytes_per_token") == caches[i - 1].at("kv_bytes_per_token").get<double>() / 2);
        CHECK(error_of(caches[i], "attention") > error_of(caches[i - 1], "attention"));
    }
    CHECK(choice(j, "bf16", "bf16").at("speed_up") == 1.0);
    for (Json const& c : j.at("choices")) {
        CHECK(c.at("error") == std::max(error_of(c, "products"), error_of(c, "attention")));
        CHECK(c.at("error_is_high") == (c.at("error").get<double>() > j.at("high_error").get<double>()));
    }
}

TEST_CASE("serve quality: the speed is that of serve estimate with these formats", "[quality]") {
    Json const here =
        choice(report(quality({"--weights", "fp8", "--kv-cache", "fp8", "--concurrency", "32"})), "fp8", "fp8");
    Json const there = report({"serve", "estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--weights",
                               "fp8", "--kv-cache", "fp8", "--concurrency", "32"})
                           .at("rows")
                           .at(0);
    CHECK(here.at("ttft_s") == there.at("ttft_s"));
    CHECK(here.at("tpot_s") == there.at("tpot_s"));
    CHECK(here.at("output_tokens_per_s_per_gpu") == there.at("output_tokens_per_s"));
}

TEST_CASE("serve quality: answers of one token have no time per further token", "[quality]") {
    Arguments const one{"--weights", "fp8", "--kv-cache", "fp8", "--output-tokens", "1"};
    Json const row = choice(report(quality(one)), "fp8", "fp8");
    CHECK(row.at("tpot_s").is_null());
    CHECK(row.at("ttft_s").get<double>() > 0);
    CHECK_THAT(run_sextant(quality(one)).out, contains(" ms     - "));
}

TEST_CASE("serve quality: a format without hardware has bytes and errors, and no times", "[quality]") {
    // TensorRT-LLM has no kernels that widen fp8.
    Json const j = report(quality({"--engine", "tensorrt-llm"}, "llama-3.1-8b", "a100-sxm-80gb"));
    Json const fp8 = choice(j, "fp8", "bf16");
    CHECK(fp8.at("refused") == "the device has no fp8 products");
    CHECK_FALSE(fp8.contains("tpot_s"));
    CHECK(fp8.at("weight_bytes_per_gpu") > 0);
    CHECK(choice(j, "int8", "bf16").at("refused").is_null());
    RunResult const text = run_sextant(quality({"--engine", "tensorrt-llm"}, "llama-3.1-8b", "a100-sxm-80gb"));
    CHECK_THAT(text.out, contains("fp8 weights: the device has no fp8 products"));
    CHECK_THAT(text.out, contains("the device has no fp8: a narrower cache is widened"));
}

TEST_CASE("serve quality: weights run and err as serve estimate says, the checkpoint's own among them", "[quality]") {
    for (auto const& [model, cluster, weights, error] : {std::tuple{"gpt-oss-120b", "b200-sxm", "fp4", 0.095},
                                                         {"gpt-oss-120b", "h100-sxm", "fp4", 0.0045},
                                                         {"llama-3.1-8b", "a100-sxm-80gb", "fp8", 0.026}}) {
        CAPTURE(model, cluster, weights);
        Arguments const formats{"--weights", weights, "--kv-cache", "bf16", "--concurrency", "32"};
        Json const here = choice(report(quality(formats, model, cluster)), weights, "bf16");
        Json const there = report(Arguments{"serve", "estimate", "--model", model, "--cluster", cluster} + formats);
        CHECK(here.at("tpot_s") == there.at("rows").at(0).at("tpot_s"));
        CHECK(here.at("error").get<double>() == Approx(error).epsilon(0.05));
        CHECK(here.at("as_released") == (std::string(model) == "gpt-oss-120b"));
        CHECK(here.at("refused").is_null());
    }
    RunResult const text = run_sextant(quality({"--weights", "fp4"}, "gpt-oss-120b", "b200-sxm"));
    CHECK_THAT(unwrapped(text.out), contains("fp4 weights: the checkpoint's own, as released"));
    RunResult const widened = run_sextant(quality({"--weights", "fp8"}, "llama-3.1-8b", "a100-sxm-80gb"));
    CHECK_THAT(unwrapped(widened.out), contains("fp8 weights widened for products in bf16"));
}

TEST_CASE("serve quality: where two bytes do not fit, narrower formats still have an answer", "[quality]") {
    Json const j = report(quality({}, "llama-3.1-70b"));
    CHECK(j.at("choices").at(0).at("refused") == "does not fit the memory");
    Json const int4 = choice(j, "int4-weights", "bf16");
    CHECK(int4.at("refused").is_null());
    CHECK(int4.at("speed_up").is_null());  // nothing to compare with
    CHECK(run_sextant(quality({"--weights", "bf16"}, "llama-3.1-70b")).code == 1);
}

TEST_CASE("serve quality: errors come from the table that is given", "[quality]") {
    ScratchFolder const folder("quality");
    std::string const file =
        folder.file("rows.csv", header + row("gemm/normal+normal/none+none", "bf16+bf16", gemm_note) +
                                    row("attention/normal/none", "bf16", cache_note) +
                                    row("quantise/normal/none", "bf16", "rms_error=1"));
    Json const j = report(quality({"--errors", file, "--weights", "bf16,fp8", "--kv-cache", "bf16"}));
    Json const bf16 = choice(j, "bf16", "bf16");
    CHECK(bf16.at("error") == 0.5);
    CHECK(bf16.at("products").at("scalings").at(0).at("zeroed_share") == 0.5);
    CHECK(choice(j, "fp8", "bf16").at("error").is_null());  // not in this table
    CHECK(choice(j, "fp8", "bf16").at("products").is_null());
}

TEST_CASE("serve quality: csv and markdown have a row for every pair", "[quality]") {
    RunResult const csv = run_sextant(quality({"--format", "csv", "--weights", "bf16,fp8"}));
    REQUIRE(csv.code == 0);
    CsvTable const table = parse_csv(csv.out, "csv");
    CHECK(table.records.size() == 6);
    CHECK(table.find("products.output_error"));
    CHECK_THAT(run_sextant(quality({"--format", "markdown"})).out, contains("| fp8-block"));
}

TEST_CASE("serve quality: bad input is refused by name", "[quality]") {
    check_refused(quality({"--weights", "fp9"}), "fp9");
    check_refused(quality({"--kv-cache", "int3"}), "int3");
    check_refused(quality({"--prompt", "nan"}), "--prompt");
    check_refused(quality({"--prompt", "0"}), "--prompt");
    check_refused(quality({"--output-tokens", "-1"}), "--output-tokens");
    check_refused(quality({"--prompt", "1e7"}), "--prompt");
    check_refused(quality({"--concurrency", "0"}), "--concurrency");
    check_refused(quality({"--rate", "-3"}), "--rate");
    check_refused(quality({"--rate", "1", "--concurrency", "1"}), "--concurrency");
    check_refused(quality({"--errors", "/nowhere.csv"}), "/nowhere.csv");
    ScratchFolder const folder("quality_bad");
    auto const with = [&](std::string const& name, std::string const& text) {
        return quality({"--errors", folder.file(name, text)});
    };
    check_refused(with("empty.csv", ""), "empty.csv");
    check_refused(with("head.csv", header), "no gemm rows");
    check_refused(with("half.csv", header + row("gemm/a/b", "bf16+bf16", gemm_note)), "no attention rows");
    check_refused(with("note.csv", header + row("gemm/a/b", "bf16+bf16", "hello")), "line 2");
    check_refused(with("nan.csv", header + row("attention/a/b", "bf16", "rms_error=nan; elements=1")), "rms_error");
    check_refused(with("part.csv", header + row("gemm/a", "bf16+bf16", gemm_note)), "TEST/INPUTS/SCALING");
}

TEST_CASE("serve estimate: says what a narrow format costs, and nothing where none was chosen", "[quality]") {
    Arguments const base{"serve", "estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--concurrency", "8"};
    CHECK_THAT(run_sextant(base + Arguments{"--weights", "fp8", "--kv-cache", "int4"}).out,
               contains("fp8 products: ") && contains("int4 cache: HIGH"));
    CHECK_THAT(run_sextant(base).out, !contains("products: "));
    Json const j = report(base + Arguments{"--weights", "int4-weights"});
    CHECK(j.at("quality").at("products_output_error") > 0.1);
    CHECK(j.at("quality").at("attention_output_error") < 0.01);
}

TEST_CASE("serve plan: formats above --max-error are dropped and counted", "[quality][long]") {
    Arguments const base{"serve",      "plan",      "--model", "llama-3.1-8b", "--cluster",
                         "h100-sxm",   "--rate",    "5",       "--weights",    "bf16,fp8,int4-weights",
                         "--kv-cache", "bf16,int4", "--pp",    "1,2"};
    Json const all = report(base);
    Json const strict = report(base + Arguments{"--max-error", "0.05"});
    CHECK(strict.at("counts").at("enumerated") == all.at("counts").at("enumerated"));
    std::set<std::string> kept;
    for (Json const& c : strict.at("candidates")) {
        kept.insert(c.at("plan").at("weights").get<std::string>());
        CHECK(c.at("plan").at("kv_cache") == "bf16");
        CHECK(c.at("error") <= 0.05);
    }
    CHECK(kept.count("int4-weights") == 0);
    std::int64_t dropped = 0;
    for (auto const& [reason, count] : strict.at("counts").at("rejected").items())
        if (reason.find("above --max-error") != std::string::npos) dropped += count.get<std::int64_t>();
    // One of three formats of weights, and half of the caches of the other two.
    CHECK(3 * dropped == 2 * strict.at("counts").at("enumerated").get<std::int64_t>());
    RunResult const none = run_sextant(base + Arguments{"--max-error", "1e-6"});
    CHECK(none.code == 1);
    check_refused(base + Arguments{"--max-error", "-1"}, "--max-error");
    check_refused(base + Arguments{"--max-error", "nan"}, "--max-error");
}
