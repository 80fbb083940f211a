#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace {

Arguments const gpt3{"estimate", "-m", "gpt3-175b", "-c", "a100-sxm-80gb",  "-n",   "512",   "--tp", "8",
                     "--pp",     "8",  "--vpp",     "3",  "--global-batch", "1024", "--seq", "2048"};

std::set<std::string> keys(Json const& json) {
    std::set<std::string> names;
    for (auto const& [key, value] : json.items())
        names.insert(key);
    return names;
}

}  // namespace

TEST_CASE("estimate says when sequences are longer than the model was built for") {
    auto const text = [](char const* length) {
        return run_sextant({"estimate", "-m", "llama-2-7b", "-c", "h100-sxm", "-n", "8", "--seq", length}).out;
    };
    CHECK(text("4096").find("beyond") == std::string::npos);
    CHECK(text("8192").find("seq 8192 (beyond the model's context of 4096)") != std::string::npos);
}

TEST_CASE("--document-tokens: reports name the documents, and a step takes less") {
    Arguments const question{"-m", "llama-3.1-8b", "-c",    "h100-sxm",       "-n",
                             "8",  "--seq",        "16384", "--global-batch", "16"};
    Arguments const packed = question + Arguments{"--document-tokens", "512"};
    CHECK(run_sextant(Arguments{"estimate"} + packed).out.find("seq 16384 in documents of 512, global") !=
          std::string::npos);
    Json const with = answer(Arguments{"estimate"} + packed);
    Json const without = answer(Arguments{"estimate"} + question);
    CHECK(with.at("document_tokens") == 512);
    CHECK_FALSE(without.contains("document_tokens"));
    CHECK(with.at("iteration_time_s").get<double>() < 0.9 * without.at("iteration_time_s").get<double>());
    CHECK(with.at("breakdown").at("attention_s").get<double>() <
          0.2 * without.at("breakdown").at("attention_s").get<double>());
    for (char const* const command : {"plan", "simulate"}) {
        CAPTURE(command);
        CHECK(answer(Arguments{command} + packed).at("document_tokens") == 512);
    }
    check_refused(Arguments{"estimate"} + question + Arguments{"--document-tokens", "0"}, "--document-tokens",
                  "1 to the 16384 tokens");
    check_refused(Arguments{"plan"} + question + Arguments{"--document-tokens", "20000"}, "--document-tokens");
    check_refused(Arguments{"estimate"} + packed + Arguments{"--attention", "unfused"}, "packed documents",
                  "must be flash");
    check_refused(Arguments{"rl", "-m", "llama-3.1-8b", "--document-tokens", "200"}, "--document-tokens");
}

TEST_CASE("--expert-imbalance: every rank waits for the busiest, FLOPs stay, and reports say so") {
    Arguments const question{"-m",    "qwen3-30b-a3b", "-c",   "h100-sxm", "-n",     "16", "--ep",           "8",
                             "--seq", "4096",          "--dp", "16",       "--zero", "1",  "--global-batch", "64"};
    Arguments const uneven = question + Arguments{"--expert-imbalance", "2"};
    Json const with = answer(Arguments{"estimate"} + uneven);
    Json const without = answer(Arguments{"estimate"} + question);
    CHECK(with.at("plan").at("expert_imbalance") == 2);
    CHECK_FALSE(without.at("plan").contains("expert_imbalance"));
    CHECK(with.at("iteration_time_s").get<double>() > 1.05 * without.at("iteration_time_s").get<double>());
    CHECK(with.at("iteration_time_s").get<double>() < 2 * without.at("iteration_time_s").get<double>());
    CHECK(with.at("memory").at("activations_bytes").get<double>() >
          1.2 * without.at("memory").at("activations_bytes").get<double>());
    CHECK(with.at("hardware_tflops_per_gpu").get<double>() * with.at("iteration_time_s").get<double>() ==
          Approx(without.at("hardware_tflops_per_gpu").get<double>() * without.at("iteration_time_s").get<double>()));
    CHECK_THAT(with.at("assumptions").dump(), contains("the busiest of 8 ranks has 2 times the mean"));
    CHECK_THAT(without.at("assumptions").dump(), contains("equal shares of the tokens (--expert-imbalance)"));
    for (char const* const command : {"plan", "simulate"}) {
        CAPTURE(command);
        CHECK(answer(Arguments{command} + uneven).dump().find("\"expert_imbalance\":2") != std::string::npos);
    }
    check_refused(Arguments{"estimate"} + question + Arguments{"--expert-imbalance", "0.5"}, "expert imbalance 0.5",
                  "from 1 to the 128 experts");
    check_refused(Arguments{"estimate"} + question + Arguments{"--expert-imbalance", "nan"}, "expert imbalance");
    check_refused({"estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "8", "--expert-imbalance", "1.5"},
                  "expert imbalance of 1.5", "has no experts");
}

TEST_CASE("estimate --format json has the keys that other programs read, each of its kind", "[INV-25]") {
    Json const json = answer(gpt3);
    CHECK(json.at("format") == "step_report");
    CHECK(json.at("version") == 1);
    for (char const* key : {"iteration_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
                            "hardware_tflops_per_gpu", "mfu", "hfu"}) {
        CAPTURE(key);
        REQUIRE(json.at(key).is_number());
        CHECK(json.at(key) > 0);
    }
    CHECK(json.at("fits").is_boolean());
    CHECK(json.at("graph_digest").get<std::string>().size() >= 8);
    REQUIRE(json.at("assumptions").is_array());
    CHECK_FALSE(json.at("assumptions").empty());
    for (Json const& line : json.at("assumptions"))
        CHECK(line.get<std::string>().find("no source") == std::string::npos);
    for (char const* key : {"peak_bytes", "weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes",
                            "buffers_bytes", "overhead_bytes", "capacity_bytes"}) {
        CAPTURE(key);
        REQUIRE(json.at("memory").at(key).is_number());
        CHECK(json.at("memory").at(key) >= 0);
    }
    for (auto const& [key, value] : json.at("breakdown").items()) {
        CHECK(key.ends_with("_s"));
        CHECK(value.get<double>() >= 0);
    }
    CHECK(json.at("gpus") == 512);
    CHECK(json.at("microbatches") == 128);
    CHECK(json.at("plan").at("dp") == 8);
    CHECK(json.at("plan").at("schedule") == "interleaved");
    CHECK(json.at("plan").at("sequence_parallel") == true);
}

TEST_CASE("estimate: memory parts add up to the peak, the breakdown to the step, the rates to one another",
          "[INV-21][INV-25]") {
    for (Arguments const& arguments :
         {gpt3, gpt3 + Arguments{"--recompute", "full"}, gpt3 + Arguments{"--offload", "optimizer+activations"},
          gpt3 + Arguments{"--zero", "0"},
          Arguments{"estimate", "-m", "llama-2-7b", "-c", "h100-sxm", "-n", "16", "--zero", "3", "--framework", "fsdp"},
          Arguments{"estimate", "-m", "llama-2-7b", "-c", "h100-sxm", "-n", "16", "--pp", "2", "--preference", "dpo"},
          Arguments{"estimate", "-m", "llama-2-7b:head=scalar", "-c", "h100-sxm", "-n", "16", "--pp", "2"},
          Arguments{"estimate", "-m", "mixtral-8x7b", "-c", "h100-sxm", "-n", "64", "--tp", "2", "--pp", "4", "--ep",
                    "8"},
          Arguments{"estimate", "-m", "llama-3.1-8b", "-c", "gb200-nvl72", "-n", "72", "--cp", "4", "--tp", "2",
                    "--seq", "131072", "--global-batch", "36"}}) {
        Json const json = answer(arguments);
        Json const& m = json.at("memory");
        double sum = 0;
        for (char const* part : {"weights_bytes", "gradients_bytes", "optimizer_bytes", "reference_bytes",
                                 "activations_bytes", "buffers_bytes", "overhead_bytes"})
            sum += m.at(part).get<double>();
        CHECK(sum == Approx(m.at("peak_bytes").get<double>()).epsilon(1e-9));
        CHECK(m.at("layer_activations_bytes").get<double>() + m.at("logits_bytes").get<double>() ==
              Approx(m.at("activations_bytes").get<double>()).epsilon(1e-9));
        CHECK(m.at("workspaces_bytes").get<double>() + m.at("slack_bytes").get<double>() ==
              Approx(m.at("overhead_bytes").get<double>()).epsilon(1e-9));
        CHECK(m.at("allocated_bytes") <= m.at("peak_bytes"));
        CHECK(m.at("reserved_low_bytes") <= m.at("peak_bytes"));
        CHECK(m.at("peak_bytes") <= m.at("reserved_high_bytes"));
        CHECK(m.at("usable_bytes") <= m.at("capacity_bytes"));
        CHECK(json.at("fits") == (m.at("peak_bytes") <= m.at("usable_bytes")));

        double time = 0;
        for (auto const& [key, value] : json.at("breakdown").items())
            time += value.get<double>();
        double const step = json.at("iteration_time_s").get<double>();
        CHECK(time == Approx(step).epsilon(1e-9));
        double const tokens = json.at("seq").get<double>() * json.at("global_batch").get<double>();
        CHECK(json.at("tokens_per_s").get<double>() == Approx(tokens / step).epsilon(1e-9));
        CHECK(json.at("tokens_per_s_per_gpu").get<double>() ==
              Approx(tokens / step / json.at("gpus").get<double>()).epsilon(1e-9));
        CHECK(json.at("mfu").get<double>() < 1);
        CHECK(json.at("hfu").get<double>() < 1);
        CHECK(json.at("model_tflops_per_gpu").get<double>() / json.at("mfu").get<double>() ==
              Approx(json.at("hardware_tflops_per_gpu").get<double>() / json.at("hfu").get<double>()).epsilon(1e-9));
    }
}

TEST_CASE("estimate: exit code 1, with the whole report, when the plan does not fit", "[INV-21]") {
    RunResult const result = run_sextant({"estimate", "-m", "llama-2-70b", "-c", "a100-sxm-80gb", "-n", "8"});
    CHECK(result.code == 1);
    CHECK(result.err.empty());
    CHECK_THAT(result.out, contains("DOES NOT FIT") && contains("where the step goes"));
    CHECK(answer({"estimate", "-m", "llama-2-70b", "-c", "a100-sxm-80gb", "-n", "8"}).at("fits") == false);
}

TEST_CASE("estimate: each format says the same, and the same each time", "[INV-12]") {
    Json const json = answer(gpt3);
    for (char const* format : {"text", "json", "csv", "markdown"}) {
        RunResult const once = run_sextant(gpt3 + Arguments{"--format", format});
        CHECK(once.out == run_sextant(gpt3 + Arguments{"--format", format}).out);
        CHECK(once.out.find(" \n") == std::string::npos);
        CHECK(once.out.ends_with("\n"));
    }
    std::string const csv = run_sextant(gpt3 + Arguments{"--format", "csv"}).out;
    CHECK(is_csv_table(csv));
    for (std::string const& line : lines_of(csv)) {
        auto const cells = csv_cells(line);
        if (json.contains(cells[0]) && json[cells[0]].is_number())
            CHECK(std::stod(cells[1]) == Approx(json[cells[0]].get<double>()).epsilon(1e-12));
    }
    std::string const markdown = run_sextant(gpt3 + Arguments{"--format", "markdown"}).out;
    CHECK_THAT(markdown.substr(0, markdown.find('\n')), contains("gpt3-175b on ") && contains("global batch"));
    CHECK(is_markdown_table(markdown.substr(markdown.find("\n\n") + 2)));
}

TEST_CASE("estimate --explain adds the reasons and every assumed value", "[INV-12]") {
    std::string const plain = run_sextant(gpt3).out;
    std::string const explained = run_sextant(gpt3 + Arguments{"--explain"}).out;
    CHECK_THAT(plain, !contains("why:"));
    CHECK_THAT(explained, contains("why:") && contains("the largest part is") && contains("memory: stage"));
    Json const json = answer(gpt3 + Arguments{"--explain"});
    CHECK(json.at("explanation").size() >= 3);
    CHECK(answer(gpt3).at("explanation").empty());
    for (Json const& line : json.at("assumptions")) {
        std::string const text = line.get<std::string>();
        CHECK_THAT(explained, contains(text.substr(0, std::min<std::size_t>(text.find(':'), 60))));
    }
}

TEST_CASE("text reports of plans stay within 110 columns", "[INV-12][long]") {
    for (Arguments const& arguments :
         {gpt3 + Arguments{"--explain"}, Arguments{"plan", "-m", "llama-2-70b", "-c", "a100-sxm-80gb", "-n", "64"},
          Arguments{"plan", "-m", "deepseek-v3", "-c", "h100-sxm", "-n", "2048", "--global-batch", "15360"},
          Arguments{"plan", "-m", "llama-2-70b", "-c", "a100-sxm-80gb", "-n", "64", "--max-memory", "5%"},
          Arguments{"memory", "-m", "mixtral-8x7b", "-c", "a100-sxm-80gb", "-n", "32", "--tp", "2", "--pp", "4", "--ep",
                    "4"},
          Arguments{"flops", "-m", "gpt3-175b"}}) {
        INFO(arguments[0]);
        for (std::string const& line : lines_of(run_sextant(arguments).out)) {
            INFO(line);
            CHECK(line.size() <= 110);
        }
    }
}

TEST_CASE("estimate --output writes the whole report and prints nothing", "[INV-12]") {
    ScratchFolder const scratch("estimate");
    std::string const file = scratch.path("report.json");
    std::string const expected = run_sextant(gpt3 + Arguments{"--format", "json"}).out;
    for (int round = 0; round < 2; ++round) {  // the second replaces the first
        RunResult const result = run_sextant(gpt3 + Arguments{"--format", "json", "--output", file});
        CHECK(result.code == 0);
        CHECK(result.out.empty());
        CHECK(result.err.empty());
        CHECK(sextant::read_text_file(file, 1 << 20) == expected);
        CHECK(scratch.count() == 1);  // nothing temporary is left
    }
    // A refused run leaves what was there.
    CHECK(run_sextant(gpt3 + Arguments{"--price", "nan", "--output", file}).code == 2);
    CHECK(sextant::read_text_file(file, 1 << 20) == expected);
}

TEST_CASE("estimate: options act in the direction they should", "[INV-15]") {
    auto const number = [](Json const& json, char const* key) { return json.at(key).get<double>(); };
    auto const peak = [](Json const& json) { return json.at("memory").at("peak_bytes").get<double>(); };
    Json const base = answer(gpt3);
    Json const recomputed = answer(gpt3 + Arguments{"--recompute", "full"});
    CHECK(number(recomputed, "iteration_time_s") > number(base, "iteration_time_s"));
    CHECK(peak(recomputed) < peak(base));
    CHECK(recomputed.at("graph_digest") != base.at("graph_digest"));
    Json const selected = answer(gpt3 + Arguments{"--recompute-modules", "layernorm,mlp_act"});
    CHECK(selected.at("plan").at("recompute") == "selective");
    CHECK(selected.at("plan").at("recompute_modules") == "layernorm,mlp_act");
    CHECK(number(selected, "iteration_time_s") > number(base, "iteration_time_s"));
    CHECK(number(selected, "iteration_time_s") < number(recomputed, "iteration_time_s"));
    CHECK(peak(selected) < peak(base));
    CHECK(peak(selected) > peak(recomputed));
    CHECK_FALSE(base.at("plan").contains("recompute_modules"));
    Json const kept = answer(gpt3 + Arguments{"--keep-activations", "qkv,attention_out"});
    CHECK(kept.at("plan").at("recompute") == "full");
    CHECK(kept.at("plan").at("kept_activations") == "qkv,attention_out");
    CHECK(kept.at("graph_digest") != recomputed.at("graph_digest"));
    CHECK(number(kept, "iteration_time_s") < number(recomputed, "iteration_time_s"));
    CHECK(peak(kept) > peak(recomputed));
    CHECK(peak(kept) < peak(base));
    Json const away =
        answer(gpt3 + Arguments{"--keep-activations", "qkv,attention_out", "--offload-activations", "qkv"});
    CHECK(away.at("plan").at("offload") == "activations");
    CHECK(away.at("plan").at("offloaded_activations") == "qkv");
    CHECK(away.at("graph_digest") != kept.at("graph_digest"));
    CHECK(peak(away) < peak(kept));
    CHECK(peak(away) >
          peak(answer(gpt3 + Arguments{"--keep-activations", "qkv,attention_out", "--offload", "activations"})));
    CHECK_FALSE(base.at("plan").contains("offloaded_activations"));
    auto const layers_away = [&](char const* layers) { return answer(gpt3 + Arguments{"--offload-layers", layers}); };
    Json const half = layers_away("48");
    CHECK(half.at("plan").at("offload") == "activations");
    CHECK(half.at("plan").at("offload_layers") == 48);
    CHECK(half.at("graph_digest") != layers_away("24").at("graph_digest"));
    CHECK(peak(half) < peak(layers_away("24")));
    CHECK(peak(half) > peak(layers_away("96")));
    CHECK_FALSE(base.at("plan").contains("offload_layers"));
    CHECK_FALSE(base.at("plan").contains("fp8_activation_input"));
    Json const narrow = answer(gpt3 + Arguments{"--gradients", "bf16"});
    CHECK(narrow.at("plan").at("gradients") == "bf16");
    CHECK(number(narrow, "iteration_time_s") <= number(base, "iteration_time_s"));
    CHECK(peak(narrow) < peak(base));
    Json const pure = answer(gpt3 + Arguments{"--optimizer", "adamw-pure-bf16"});
    CHECK(pure.at("plan").at("optimizer") == "adamw-pure-bf16");
    CHECK(number(pure, "iteration_time_s") < number(narrow, "iteration_time_s"));
    CHECK(peak(pure) < peak(narrow));
    Json const unsharded = answer(gpt3 + Arguments{"--zero", "0"});
    CHECK(peak(unsharded) > peak(base));
    Json const offloaded = answer(gpt3 + Arguments{"--offload", "optimizer"});
    CHECK(offloaded.at("memory").at("optimizer_bytes") == 0);
    CHECK(offloaded.at("memory").at("host_bytes") > 0);
    Json const free_of_charge = answer(gpt3 + Arguments{"--price", "0"});
    CHECK(free_of_charge.at("step_cost_usd") == 0);
    Json const priced = answer(gpt3 + Arguments{"--price", "3.6"});
    CHECK(number(priced, "step_cost_usd") == Approx(512 * 0.001 * number(priced, "iteration_time_s")));
    Json const less = answer(gpt3 + Arguments{"--max-memory", "20 GB"});
    CHECK(less.at("fits") == false);
    CHECK(number(less, "iteration_time_s") == number(base, "iteration_time_s"));
    CHECK(keys(less) == keys(base));
}

TEST_CASE("estimate and memory take every schedule, with its chunks where none are given", "[INV-25]") {
    Arguments const base{"-m", "llama-3.1-8b", "-c", "h100-sxm", "--tp", "2", "--pp", "4", "--global-batch", "32"};
    std::map<std::string, double> time, peak;
    for (auto const& [schedule, vpp] : std::map<std::string, int>{{"gpipe", 1},
                                                                  {"1f1b", 1},
                                                                  {"breadth-first", 1},
                                                                  {"zb-h1", 1},
                                                                  {"zb-h2", 1},
                                                                  {"zb-v", 2},
                                                                  {"dualpipe", 1},
                                                                  {"dualpipe-v", 2}}) {
        CAPTURE(schedule);
        RunResult const run =
            run_sextant(Arguments{"estimate"} + base + Arguments{"--schedule", schedule, "--format", "json"});
        REQUIRE(run.code <= 1);
        Json const json = Json::parse(run.out);
        CHECK(json.at("plan").at("schedule") == schedule);
        CHECK(json.at("plan").at("vpp") == vpp);
        double sum = 0;
        for (auto const& [key, value] : json.at("breakdown").items()) {
            CHECK(value.get<double>() >= 0);
            sum += value.get<double>();
        }
        time[schedule] = json.at("iteration_time_s").get<double>();
        CHECK(sum == Approx(time[schedule]));
        RunResult const sheet =
            run_sextant(Arguments{"memory"} + base + Arguments{"--schedule", schedule, "--format", "json"});
        REQUIRE(sheet.code <= 1);
        Json const stages = Json::parse(sheet.out).at("stages");
        REQUIRE(stages.size() == 4);
        for (Json const& stage : stages)
            peak[schedule] = std::max(peak[schedule], stage.at("peak_bytes").get<double>());
        CHECK(peak[schedule] == Approx(json.at("memory").at("peak_bytes").get<double>()));
    }
    CHECK(time["zb-h1"] < time["1f1b"]);
    CHECK(time["zb-h2"] < time["zb-h1"]);
    CHECK(peak["zb-h2"] > peak["zb-h1"]);
    CHECK(peak["zb-h1"] > peak["1f1b"]);      // gradients of logits wait for their weight halves
    CHECK(peak["dualpipe"] > peak["zb-h1"]);  // two copies of the parameters
    CHECK(peak["breadth-first"] == Approx(peak["gpipe"]));
}

TEST_CASE("estimate, memory and simulate: MaxText's pipelines hold every microbatch unless another schedule is named") {
    Arguments const asked{
        "-m",          "llama-3.1-8b", "-c",     "tpu-v5p", "-n",   "64", "--framework", "maxtext", "--tp", "4",
        "--recompute", "full",         "--zero", "1",       "--pp", "2"};
    Json const plain = answer(Arguments{"estimate"} + asked);
    CHECK(plain.at("plan").at("schedule") == "gpipe");
    CHECK(plain.at("not_expressed").empty());
    CHECK(answer(Arguments{"memory"} + asked).at("plan").at("schedule") == "gpipe");
    Json const chunks = answer(Arguments{"estimate"} + asked + Arguments{"--vpp", "4"});
    CHECK(chunks.at("plan").at("schedule") == "breadth-first");
    CHECK(chunks.at("memory").at("peak_bytes") > 90e9);

    Arguments const named{"--schedule", "1f1b"};
    CHECK(answer(Arguments{"estimate"} + asked + named).at("not_expressed").size() == 1);
    CHECK(answer(Arguments{"memory"} + asked + named).at("not_expressed").size() == 1);
    for (char const* command : {"estimate", "memory", "simulate"}) {
        std::string const text = unwrapped(run_sextant(Arguments{command} + asked + named).out);
        CHECK_THAT(text,
                   contains("! maxtext may refuse this, or run it otherwise: schedule: MaxText runs all forwards"));
    }
    Arguments const plan{"-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "64", "--pp", "2"};
    CHECK(answer(Arguments{"estimate"} + plan).at("plan").at("schedule") == "1f1b");
    CHECK(answer(Arguments{"estimate"} + plan + Arguments{"--vpp", "4"}).at("plan").at("schedule") == "interleaved");
    CHECK_THAT(run_sextant(Arguments{"estimate"} + plan + Arguments{"--vpp", "4", "--framework", "deepspeed"}).out,
               contains("! deepspeed may refuse this"));
}

TEST_CASE("parameters in host memory let one accelerator train what it cannot hold", "[INV-21]") {
    auto const of = [](char const* framework, char const* offload) {
        return answer({"estimate", "-m", "llama-3.1-8b", "-c", "rtx-4090:host_memory=192GB", "-n", "1", "--zero", "3",
                       "--offload", offload, "--framework", framework, "--seq", "1024", "--global-batch", "8",
                       "--recompute", "full"});
    };
    for (char const* const framework : {"deepspeed", "fsdp", "torchtitan"}) {
        CAPTURE(framework);
        Json const optimizer = of(framework, "optimizer"), all = of(framework, "parameters");
        CHECK(all.at("fits") == true);
        for (char const* const state : {"weights_bytes", "gradients_bytes", "optimizer_bytes"})
            CHECK(all.at("memory").at(state) == 0);
        CHECK(all.at("memory").at("peak_bytes") < optimizer.at("memory").at("peak_bytes"));
        CHECK(all.at("memory").at("host_bytes") > optimizer.at("memory").at("host_bytes"));
        CHECK(all.at("breakdown").at("offload_s") > 0);
    }
}

TEST_CASE("a plan that host memory is too small for is said not to fit for that", "[INV-21]") {
    Arguments const asked{"-m",          "llama-3.1-8b", "-c",    "rtx-4090",  "-n",
                          "1",           "--zero",       "2",     "--offload", "optimizer",
                          "--framework", "deepspeed",    "--seq", "1024",      "--global-batch",
                          "8",           "--recompute",  "full"};
    Json const json = answer(Arguments{"estimate"} + asked);
    CHECK(json.at("fits") == false);
    CHECK(json.at("memory").at("peak_bytes") < json.at("memory").at("usable_bytes"));
    CHECK(json.at("memory").at("host_bytes") > json.at("memory").at("host_usable_bytes"));
    for (char const* command : {"estimate", "memory"}) {
        RunResult const text = run_sextant(Arguments{command} + asked);
        CHECK(text.code == 1);
        CHECK_THAT(unwrapped(text.out),
                   contains("DOES NOT FIT") && contains(" are offloaded, and there are 64 GB of host"));
    }
    Arguments larger = asked;
    larger[3] = "rtx-4090:host_memory=192GB";
    CHECK(answer(Arguments{"estimate"} + larger).at("fits") == true);
}

TEST_CASE("estimate --measured-time: how far off the prediction is, and what would explain it") {
    Arguments const asked{"estimate", "-m",   "llama-2-70b", "-c",    "h100-sxm", "--tp",           "8",  "--pp",
                          "4",        "--dp", "4",           "--seq", "4096",     "--global-batch", "512"};
    Json const plain = answer(asked);
    double const seconds = plain.at("iteration_time_s");
    CHECK_FALSE(plain.contains("measured"));
    auto const said = [&](Arguments const& measured) {
        std::string lines;
        Json const report = answer(asked + measured);
        for (Json const& line : report.at("measured"))
            lines += line.get<std::string>() + "\n";
        return lines;
    };
    auto const times = [&](double factor) {
        return Arguments{"--measured-time", fmt::format("{} s", factor * seconds)};
    };
    CHECK_THAT(said(times(1)), contains("is 1.00 times the predicted") && contains("inside the 80 % interval"));
    CHECK_THAT(said(times(1.5)), contains("above the 80 % interval") &&
                                     contains("matrix products and attention take 1.") &&
                                     contains("links between nodes") && contains("lie outside of it"));
    CHECK_THAT(said(times(0.6)), contains("below the 80 % interval") && !contains("outside of it"));
    // A run that recomputes all its layers is known by its time.
    double const again = answer(asked + Arguments{"--recompute", "full"}).at("iteration_time_s");
    CHECK_THAT(said({"--measured-time", fmt::format("{} s", again)}),
               contains("with --recompute full it would take") && contains("(100 % of the difference)"));
    // By MFU: the same step.
    double const mfu = plain.at("mfu");
    CHECK(said({"--measured-mfu", fmt::format("{}", mfu / 1.5)}) == said(times(1.5)));
    double const tokens = plain.at("tokens_per_s_per_gpu");
    CHECK(said({"--measured-tokens", fmt::format("{}", tokens / 1.5)}) == said(times(1.5)));
    CHECK_THAT(run_sextant(asked + times(1.5)).out, contains("\nmeasured:\n"));
    CHECK_THAT(run_sextant(asked + times(1.5) + Arguments{"--format", "markdown"}).out, contains("\nMeasured:\n\n- "));
    // Faster than any device of the kind: that comes first, and no advice on how to reach it.
    std::string const impossible = said({"--measured-time", "1ms"});
    CHECK_THAT(impossible, Catch::StartsWith("no h100-sxm does that") && contains("--global-batch 512") &&
                               contains("--gpus 128") && !contains(" 0.00 times") && !contains("MFU"));
    CHECK(std::count(impossible.begin(), impossible.end(), '\n') == 2);
    check_refused(asked + Arguments{"--measured-time", "26"}, "--measured-time", "unit");
    check_refused(asked + Arguments{"--measured-time", "-1s"}, "--measured-time");
    check_refused(asked + Arguments{"--measured-mfu", "0"}, "--measured-mfu");
    check_refused(asked + Arguments{"--measured-mfu", "31%", "--measured-time", "26s"}, "give one");
    check_refused(asked + Arguments{"--measured-mfu", "31%", "--measured-tokens", "320"}, "give one");
    check_refused(asked + Arguments{"--measured-tokens", "320", "--measured-time", "26s"}, "give one");
    check_refused(asked + Arguments{"--measured-tokens", "0"}, "--measured-tokens");
}

TEST_CASE("estimate: pairs are read from a file of a plan as they were asked, and refused where they cannot be",
          "[INV-25]") {
    Arguments const asked{"estimate", "-m",   "llama-3.2-1b",   "-c", "h100-sxm",    "-n", "8",
                          "--seq",    "2048", "--global-batch", "64", "--preference"};
    Json const dpo = report(asked + Arguments{"dpo"});
    CHECK(dpo.at("seq") == 4096);
    CHECK(dpo.at("preference") == "dpo");
    CHECK(dpo.at("breakdown").at("reference_s") > 0);
    CHECK(dpo.at("memory").at("reference_bytes") > 0);
    Json const free = report(asked + Arguments{"reference-free"});
    CHECK(free.at("breakdown").at("reference_s") == 0);
    CHECK(free.at("iteration_time_s") < dpo.at("iteration_time_s"));
    CHECK_FALSE(report(asked + Arguments{"none"}).contains("preference"));
    check_refused(asked + Arguments{"ppo"}, "--preference", "reference-free");
    check_refused(asked + Arguments{"dpo", "--document-tokens", "512"}, "--document-tokens", "dpo");
    Arguments simulated = asked + Arguments{"dpo"};
    simulated.front() = "simulate";
    check_refused(simulated, "--preference", "reference-free");
    Arguments exported = asked + Arguments{"dpo"};
    exported.front() = "export";
    check_refused(exported, "--preference", "dpo");
    Arguments verified = asked + Arguments{"dpo", "--verify", "2"};
    verified.front() = "plan";
    check_refused(verified, "--verify", "reference-free");
}

TEST_CASE("estimate: pairs are compared by their tokens where a model has their log-probabilities alone", "[INV-25]") {
    auto const asked = [](std::string const& model, std::string const& preference) {
        return Arguments{"estimate",       "-m", model,          "-c",      "h100-sxm", "-n", "8", "--seq", "2048",
                         "--global-batch", "64", "--preference", preference};
    };
    for (char const* const head : {"scalar", "5", "none"})
        check_refused(asked(fmt::format("llama-3.2-1b:head={}", head), "dpo"), "--preference", "reference-free");
    CHECK(report(asked("llama-3.2-1b:head=scalar", "reference-free")).at("preference") == "reference-free");
    ScratchFolder const folder("pairs_of_encoders");
    std::string const encoder =
        folder.file("encoder.json", R"({"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"]})");
    for (char const* const preference : {"dpo", "reference-free"})
        check_refused(asked(encoder, preference), "--preference", "causal");
}
