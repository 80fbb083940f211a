#include "core/json/text_file.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>

namespace {

Arguments const llama{"-m", "llama-2-7b", "-c", "a100-sxm-80gb"};
Arguments const estimate = Arguments{"estimate"} + llama;
Arguments const plan = Arguments{"plan"} + llama + Arguments{"-n", "8"};

/// The shipped H100 cluster as JSON, to be spoiled.
Json cluster_json() {
    return Json::parse(
        sextant::read_text_file(SEXTANT_SOURCE_DIR "/hardware_profiles/clusters/h100-sxm.json", 1 << 20));
}

}  // namespace

TEST_CASE("bad input: unknown names are refused with the nearest one", "[INV-11]") {
    check_refused({"plan", "-m", "lama-2-7b", "-c", "h100-sxm", "-n", "8"}, "'lama-2-7b'", "did you mean 'llama-2-7b'");
    check_refused({"estimate", "-m", "gpt2", "-c", "h100-smx"}, "--cluster", "'h100-smx'", "did you mean 'h100-sxm'",
                  "lists all");
    check_refused(estimate + Arguments{"--framework", "megatrom"}, "--framework", "did you mean 'megatron'");
    check_refused(estimate + Arguments{"--schedule", "forward-only"}, "--schedule", "trains nothing");
    check_refused(estimate + Arguments{"--pp", "2", "--vpp", "3", "--schedule", "zb-v"}, "vpp 3", "exactly 2");
    check_refused(plan + Arguments{"--vpp", "3", "--schedule", "zb-v,zb-h1"}, "--vpp", "no schedule is left");
    check_refused(estimate + Arguments{"--schedule", "1g1b"}, "--schedule", "did you mean '1f1b'");
    check_refused(plan + Arguments{"--schedule", "1f1b,"}, "--schedule", "''");
    check_refused({"simulate", "-m", "gpt2", "-c", "h100-sxm", "--pp", "2", "--schedule", "mine.csv"},
                  "--schedule-file mine.csv");
    check_refused(estimate + Arguments{"--recompute", "some"}, "--recompute", "'some'", "none, selective, full");
    check_refused(estimate + Arguments{"--offload", "gpu"}, "--offload", "'gpu'");
    check_refused(estimate + Arguments{"--offload", "parameters", "--zero", "2"}, "offload parameters with ZeRO 2",
                  "use ZeRO 3");
    check_refused(plan + Arguments{"--offload", "parameters", "--zero", "1,2"}, "--offload", "--zero 3");
    check_refused(estimate + Arguments{"--optimizer", "adam"}, "--optimizer", "did you mean 'adamw'");
    check_refused(estimate + Arguments{"--precision", "bf61"}, "--precision", "did you mean 'bf16'");
    check_refused(estimate + Arguments{"--cp-mode", "rings"}, "--cp-mode", "did you mean 'ring'");
    check_refused(plan + Arguments{"--objective", "speed"}, "--objective", "'speed'", "tokens-per-dollar");
    check_refused(plan + Arguments{"--space", "huge"}, "--space", "'huge'", "standard or full");
    check_refused(plan + Arguments{"--format", "yaml"}, "--format", "'yaml'", "json");
}

TEST_CASE("bad input: options are refused when unknown, missing, empty or given twice", "[INV-11]") {
    check_refused(estimate + Arguments{"--ouptut", "x"}, "unknown option '--ouptut'", "did you mean '--output'");
    check_refused(plan + Arguments{"--micro-bach", "1"}, "did you mean '--micro-batch'");
    check_refused(estimate + Arguments{"--tp", "2", "--tp", "4"}, "--tp: given more than once");
    check_refused(estimate + Arguments{"extra"}, "unexpected argument 'extra'");
    check_refused({"models", "gpt2"}, "unexpected argument 'gpt2'; did you mean 'show gpt2'?");
    check_refused({"estimate", "-c", "h100-sxm"}, "--model is required");
    check_refused({"plan", "--modle", "gpt2", "-c", "h100-sxm"}, "unknown option '--modle'", "did you mean '--model'");
    check_refused({"plan", "-m", "gpt2", "--clutser=h100-sxm"}, "did you mean '--cluster'");
    check_refused({"estimate", "-m", "gpt2"}, "--cluster is required");
    check_refused({"plan", "-m", "gpt2", "-c", "h100-sxm"}, "--gpus", "how many accelerators");
    for (char const* flag :
         {"--tp", "--seq", "--gpus", "--price", "--max-memory", "--expert-tp", "--output", "--framework", "--format"})
        check_refused(estimate + Arguments{flag, ""}, flag, "empty");
}

TEST_CASE("bad input: flags that contradict each other, whichever is last, and numbers of another kind", "[INV-11]") {
    for (char const* name : {"flash-attention", "dropout", "fused-cross-entropy", "sequence-parallel"})
        for (bool const negative_last : {true, false}) {
            Arguments flags{std::string("--") + name, std::string("--no-") + name};
            if (!negative_last) std::swap(flags[0], flags[1]);
            check_refused(estimate + flags, std::string("--") + name + " and --no-" + name + " contradict each other");
        }
    for (char const* name : {"flash-attention", "dropout", "fused-cross-entropy", "sequence-parallel"}) {
        std::string const flag = std::string("--") + name;
        auto const answer = [](Arguments const& flags) {
            return run_sextant(estimate + Arguments{"-n", "8", "--tp", "8", "--format", "json"} + flags).out;
        };
        CHECK(answer({flag + "=false"}) == answer({std::string("--no-") + name}));
        CHECK(answer({flag + "=true"}) == answer({flag}));
        CHECK(answer({flag}) != answer({flag + "=false"}));
    }
    check_refused(estimate + Arguments{"--seq", "8k"}, "--seq: '8k' may be 8000 or 8192 tokens (write 8000, or 8Ki)");
    check_refused(estimate + Arguments{"--seq", "1M"}, "--seq: '1M' may be 1000000 or 1048576 tokens");
    check_refused(estimate + Arguments{"--seq", "8Mb"}, "--seq: '8Mb' is not a whole number");
    check_refused(estimate + Arguments{"--price", "$3"}, "--price: '$3' is not a number (digits alone");
    check_refused(plan + Arguments{"--top", "1e3"}, "'1e3' is not a whole number");
    check_refused(plan + Arguments{"--top=", "--threads", "1"}, "--top: the value is empty");
}

TEST_CASE("bad input: a number of tokens is no output file", "[INV-11]") {
    check_refused({"serve", "estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--output", "1024"}, "'1024'",
                  "--output-tokens", "./1024");
    check_refused({"models", "--output", "7"}, "'7' is a number", "./7");
}

TEST_CASE("bad input: a number is no file or folder to write, whatever the option", "[INV-11]") {
    Arguments const served{"serve", "simulate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--rate", "1"};
    check_refused(served + Arguments{"--requests", "600"}, "--requests", "'600' is a number", "--count", "./600");
    check_refused(served + Arguments{"--output", "600"}, "'600' is a number", "--output-tokens");
    for (char const* number : {"600", "1.5", "1e4", ".5", "-1", "+2", "-1e4"})
        for (char const* option : {"--requests", "--timeline", "--plots", "--output"})
            check_refused(served + Arguments{option, number}, option, std::string(number) + "' is a number");
    check_refused(Arguments{"export"} + llama + Arguments{"--output", "8"}, "'8' is a number");
    check_refused({"tables", "training", "--output", "8"}, "'8' is a number");
    ScratchFolder const scratch("numbered");
    CHECK(run_sextant({"models", "--output", scratch.path("600")}).code == 0);
    CHECK(scratch.count() == 1);
}

TEST_CASE("bad input: files that are missing, empty, cut off or folders are named", "[INV-11]") {
    ScratchFolder const scratch("files");
    std::string const config = sextant::read_text_file(SEXTANT_SOURCE_DIR "/models/llama-2-7b.json", 1 << 20);
    std::string const cluster = cluster_json().dump();
    struct Case {
        std::string name, text, expected;
    };
    for (std::string const what : {"-m", "-c", "--framework"}) {
        auto const with = [&](std::string const& file) {
            Arguments arguments{"estimate", "-m", "gpt2", "-c", "h100-sxm", "--framework", "megatron"};
            *std::next(std::find(arguments.begin(), arguments.end(), what)) = file;
            return arguments;
        };
        std::string const& whole = what == "-m" ? config : cluster;
        check_refused(with(scratch.path("absent.json")), "absent.json", "cannot be opened");
        for (Case const& c : {Case{"empty.json", "", "is empty"},
                              {"cut.json", whole.substr(0, whole.size() / 2), "not valid JSON"},
                              {"list.json", "[1, 2]", "list.json"},
                              {"binary.json", std::string("\0\xff\xfe\x01", 4), "binary.json"}}) {
            check_refused(with(scratch.file(c.name, c.text)), c.expected);
            std::filesystem::remove(scratch.path(c.name));
        }
        std::filesystem::create_directory(scratch.path("folder.json"));
        check_refused(with(scratch.path("folder.json")), "is a folder");
        std::filesystem::remove(scratch.path("folder.json"));
    }
}

TEST_CASE("bad input: a file of another kind is said to be one, with what is expected", "[INV-11]") {
    ScratchFolder const scratch("kinds");
    std::string const csv = scratch.file("rows.csv", "a,b\n1,2\n");
    std::string const json = scratch.file("rows.json", "{\"a\": 1}");
    std::string const binary = scratch.file("binary.csv", std::string("\x7f"
                                                                      "ELF\0\1\n,\0",
                                                                      9));
    std::string const cut = scratch.file("cut.json", cluster_json().dump().substr(0, 400));
    std::string const kernels = SEXTANT_SOURCE_DIR "/hardware_profiles/calibrations/kernels/h100-sxm.json";
    Arguments const served{"serve", "simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm"};
    for (Arguments const& question : {Arguments{"flops", "-m", csv},
                                      {"memory", "-m", csv, "-c", "h100-sxm"},
                                      {"models", "show", csv},
                                      {"calibrate", "report", csv},
                                      {"calibrate", "diff", kernels, csv},
                                      {"export", "--plan", csv},
                                      {"estimate", "-m", "gpt2", "-c", "h100-sxm:calibration=" + csv}})
        check_refused(question, "rows.csv", "not valid JSON", "a JSON file is expected");
    for (Arguments const& question : {Arguments{"flops", "-m", binary}, {"calibrate", "report", binary}})
        check_refused(question, "binary.csv", "is binary, not valid JSON", "a JSON file is expected");
    for (Arguments const& question : {Arguments{"validate", "train"},
                                      {"validate", "kernels"},
                                      {"validate", "collectives"},
                                      {"validate", "serving"},
                                      {"scaling", "fit", "--law", "chinchilla", "--data"},
                                      {"calibrate", "report", kernels, "--rows"}}) {
        check_refused(question + Arguments{binary}, "binary.csv", "is binary", "expected");
        check_refused(question + Arguments{scratch.path("")}, "is a folder", "a file is expected");
        check_refused(question + Arguments{scratch.path("absent.csv")}, "absent.csv", "cannot be opened",
                      "current folder");
    }
    for (char const* kind : {"train", "collectives", "serving"})
        check_refused({"validate", kind, json}, "is JSON", "CSV with a header line is expected");
    check_refused({"validate", "train", scratch.file("mega.log", " [2025-11-01 10:00:00] iteration 10/ 100 | x: 1\n")},
                  "the header lacks 3 of 3 columns: model, gpu, num_gpus", "iteration 10/ 100");
    check_refused({"calibrate", "report", kernels, "--rows", json}, "rows.json", "--from one of");
    check_refused({"scaling", "fit", "--law", "chinchilla", "--data", json}, "rows.json", "is JSON");
    check_refused({"estimate", "-m", "gpt2", "-c", cut}, "not valid JSON", "the file ends too early: is it whole?");
    check_refused({"estimate", "-m", "gpt2", "-c", csv}, "--cluster", "is no file of a cluster", ".json",
                  "sextant hardware");
    check_refused({"estimate", "-m", "gpt2", "-c", "h100-sxm", "--framework", csv}, "--framework",
                  "is no file of a framework");
    check_refused({"calibrate", "report", "h100-sxm"}, "h100-sxm: cannot be opened", "the path of a file is expected");
    check_refused({"export", "--plan", json}, "'format' is missing", "docs/formats.md");
    check_refused({"hardware", "show", json}, "'format' is missing", "docs/formats.md");
    check_refused(estimate + Arguments{"--config", csv}, "rows.csv:1", "TOML is expected");
    check_refused(estimate + Arguments{"--from-torchtitan", binary}, "binary.csv:1", "TOML is expected");
    check_refused(estimate + Arguments{"--from-deepspeed", csv}, "neither JSON nor a script", "is expected");
    check_refused(served + Arguments{"--trace", json}, "is JSON", "arrival_s");
    check_refused(served + Arguments{"--trace", binary}, "is binary");
    check_refused(served + Arguments{"--trace", scratch.file("head.csv", "arrival_s,prompt,output\n")}, "no requests",
                  "a line for each request is expected");
    check_refused(served + Arguments{"--trace", scratch.file("nan.csv", "arrival_s,prompt,output\nnan,1,1\n")},
                  "line 2, arrival_s", "'nan' is no number", "a finite one is expected");
}

TEST_CASE("bad input: files and folders that are not what is expected, with what is", "[INV-11]") {
    ScratchFolder const folder("expected_files");
    std::string const binary = folder.path("rows.bin");
    sextant::write_text_file(binary, std::string("\0\1\2", 3));
    std::string const table = folder.path("rows.csv");
    sextant::write_text_file(table, "point,mfu\n0,1\n");
    check_refused({"estimate", "-m", folder.path("."), "-c", "h100-sxm"}, "is a folder without config.json",
                  "'sextant models'");
    check_refused(plan + Arguments{"--from-megatron", binary}, "a script that starts Megatron-LM");
    check_refused({"sweep", "--axis", "gpus=1,2", "--output", folder.path("no/rows.csv"), "estimate", "-m", "gpt2",
                   "-c", "h100-sxm"},
                  "does not exist (create it first)");
    check_refused({"merge", folder.path("out.csv"), table}, "is no file of a sweep", "rows.csv.sweep.json");
}

TEST_CASE("bad input: lists with empty entries, options without a value and words in the wrong place", "[INV-11]") {
    Arguments const served{"serve", "estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm"};
    check_refused(served + Arguments{"--concurrency", "1,,2"}, "--concurrency", "'1,,2' has an empty entry", "1,8,64");
    check_refused({"scaling", "optimum", "--flops", "1e21,"}, "--flops", "has an empty entry");
    check_refused(served + Arguments{"--rate"}, "--rate: a value is missing");
    check_refused(Arguments{"plan", "-m", "llama-2-7b", "-c", "h100-sxm", "--gpus"}, "--gpus: a value is missing");
    check_refused({"sweep", "merge", "a.csv"}, "'merge' is no command to sweep but one of its own", "sextant merge");
    check_refused({"--tp", "8", "estimate"}, "--tp", "options stand behind the command");
    RunResult const far = run_sextant({"goodput", "-c", "h100-sxm", "--gpus", "64", "--mtbf", "1h"});
    CHECK(far.code == 2);
    CHECK_THAT(far.err, contains("unknown option '--mtbf'") && !contains("did you mean '--tp'"));
}

TEST_CASE("bad input: tp that does not divide the heads is refused with those that do, by every command", "[INV-11]") {
    check_refused(estimate + Arguments{"--tp", "3"}, "tp 3", "a divisor of 32 is expected");
    check_refused(Arguments{"memory"} + llama + Arguments{"--tp", "3"}, "a divisor of 32 is expected");
    check_refused({"serve", "estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--tp", "3"}, "--tp: 3",
                  "a divisor of 32 is expected");
    check_refused(Arguments{"run-plan"} + llama + Arguments{"--tokens", "1T", "-n", "8", "--tp", "7"}, "--tp", "'7'",
                  "1, 2, 4, 8");
}

TEST_CASE("bad input: a cluster file's wrong units, keys and values are named", "[INV-11]") {
    ScratchFolder const scratch("cluster");
    auto const spoiled = [&](auto&& spoil) {
        Json json = cluster_json();
        spoil(json);
        return Arguments{"estimate", "-m", "gpt2", "-c", scratch.file("cluster.json", json.dump(1))};
    };
    REQUIRE(run_sextant(spoiled([](Json&) {})).code == 0);
    check_refused(spoiled([](Json& j) { j["scale_up"]["bandwidth"]["value"] = "450 GHz"; }), "bandwidth", "450 GHz");
    check_refused(spoiled([](Json& j) { j["scale_up"]["bandwidth"]["value"] = "-450 GB/s"; }), "bandwidth",
                  "-450 GB/s");
    check_refused(spoiled([](Json& j) { j["scale_up"]["base_latency"]["value"] = 5; }), "base_latency");
    check_refused(spoiled([](Json& j) { j["domain_sise"] = 8; }), "domain_sise", "did you mean 'domain_size'");
    check_refused(spoiled([](Json& j) { j["domain_size"] = 0; }), "domain_size");
    check_refused(spoiled([](Json& j) { j["domain_size"] = -8; }), "domain_size");
    check_refused(spoiled([](Json& j) { j.erase("scale_up"); }), "scale_up");
    check_refused(spoiled([](Json& j) { j["accelerator"] = "h100-sxn"; }), "h100-sxn", "h100-sxm");
    check_refused(spoiled([](Json& j) { j["version"] = 99; }), "version", "99");
    check_refused(spoiled([](Json& j) { j["format"] = "accelerator"; }), "format", "accelerator");
    check_refused(spoiled([](Json& j) { j["scale_up"]["ring_efficiency"]["basis"] = "guessed"; }), "guessed");
}

TEST_CASE("bad input: more accelerators than the cluster has", "[INV-11]") {
    ScratchFolder const scratch("size");
    Json json = cluster_json();
    json["max_accelerators"] = 64;
    std::string const small = scratch.file("small.json", json.dump());
    json.erase("max_accelerators");
    json.erase("scale_out");
    std::string const one_node = scratch.file("one_node.json", json.dump());
    for (char const* command : {"estimate", "plan", "memory"}) {
        check_refused({command, "-m", "gpt2", "-c", small, "--gpus", "128"}, "--gpus", "128", "64");
        check_refused({command, "-m", "gpt2", "-c", one_node, "--gpus", "16"}, "--gpus", "16", "one domain", "8");
    }
    check_refused({"estimate", "-m", "gpt2", "-c", small, "--dp", "128"}, "128", "64");
    CHECK(run_sextant({"estimate", "-m", "gpt2", "-c", one_node, "--gpus", "8"}).code == 0);
    check_refused(estimate + Arguments{"--gpus", "99999999"}, "--gpus");
}

TEST_CASE("bad input: every integer option refuses what is no number, negative or huge", "[INV-11]") {
    for (char const* flag : {"--tp", "--pp", "--dp", "--cp", "--ep", "--vpp", "--micro-batch", "--zero", "--seq",
                             "--global-batch", "--gpus", "--expert-tp", "--shard-group", "--recompute-layers"})
        for (char const* value : {"abc", "1.5", "-1", "-9223372036854775808", "99999999999999999999",
                                  "9223372036854775807", "8x", "1e3", " ", "+-8"}) {
            check_refused(estimate + Arguments{flag, value}, flag);
            if (std::string(flag) == "--gpus")
                check_refused(Arguments{"plan"} + llama + Arguments{flag, value}, flag);
            else
                check_refused(plan + Arguments{flag, value}, flag);
        }
    for (char const* flag :
         {"--tp", "--pp", "--dp", "--cp", "--ep", "--vpp", "--micro-batch", "--seq", "--global-batch", "--expert-tp"}) {
        check_refused(estimate + Arguments{flag, "0"}, flag);
        check_refused(plan + Arguments{flag, "0"}, flag);
    }
    for (char const* value : {"0", "-1", "10001", "x"})
        check_refused(plan + Arguments{"--top", value}, "--top");
    for (char const* value : {"-1", "1025", "x"})
        check_refused(plan + Arguments{"--threads", value}, "--threads");
}

TEST_CASE("bad input: lists and ranges with a fault in them", "[INV-11]") {
    for (char const* value : {"8,", ",8", ",", "8,,16", "8;16", "0", "abc"}) {
        check_refused(Arguments{"plan"} + llama + Arguments{"--gpus", value}, "--gpus");
        check_refused(estimate + Arguments{"--gpus", value}, "--gpus");
    }
    check_refused(estimate + Arguments{"--gpus", "8,16"}, "--gpus", "is a list");
    for (char const* value : {"4..2", "2..", "..4", "1,", "<8", "=8", "<=", "1-4"})
        check_refused(plan + Arguments{"--tp", value}, "--tp");
    for (char const* value : {"<=8", "1,2", "2..4"})
        check_refused(estimate + Arguments{"--tp", value}, "--tp", "not a whole number");
}

TEST_CASE("bad input: plans that cannot be built, with the numbers", "[INV-11]") {
    check_refused(estimate + Arguments{"--tp", "5"}, "tp 5", "32 attention heads");
    check_refused(plan + Arguments{"--tp", "5"}, "--tp", "'5'", "1, 2, 4, 8");
    check_refused(plan + Arguments{"--tp", "16"}, "--tp", "'16'", "1, 2, 4, 8");
    check_refused(estimate + Arguments{"--dp", "3", "--global-batch", "16"}, "global batch 16", "3 * 1 = 3");
    check_refused(plan + Arguments{"--dp", "8", "--global-batch", "12"}, "batch", "without --dp");
    check_refused(plan + Arguments{"--dp", "3"}, "no degrees that megatron runs multiply to the accelerators",
                  "without --dp");
    check_refused(estimate + Arguments{"--gpus", "12", "--tp", "8"}, "--gpus", "12", "8");
    check_refused(estimate + Arguments{"--gpus", "16", "--tp", "8", "--dp", "4"}, "--dp", "32", "16");
    check_refused(estimate + Arguments{"--pp", "64"}, "32 layers", "pp 64");
    check_refused(estimate + Arguments{"--pp", "2", "--vpp", "3"}, "32 layers", "vpp 3");
    check_refused(estimate + Arguments{"--vpp", "2"}, "pp > 1");
    check_refused(estimate + Arguments{"--pp", "2", "--vpp", "2", "--schedule", "1f1b"}, "interleaved");
    check_refused(plan + Arguments{"--vpp", "1", "--schedule", "interleaved"}, "--vpp");
    check_refused(estimate + Arguments{"--pp", "2", "--zero", "3"}, "ZeRO-3", "pp 2");
    check_refused(estimate + Arguments{"--zero", "4"}, "zero", "4", "0, 1, 2 or 3");
    check_refused(plan + Arguments{"--zero", "4"}, "--zero", "4", "0, 1, 2 or 3");
    check_refused(estimate + Arguments{"--ep", "2", "--dp", "2"}, "no experts");
    check_refused(plan + Arguments{"--ep", "2"}, "--ep", "'2'");
    check_refused(plan + Arguments{"--expert-tp", "2"}, "experts");
    check_refused(estimate + Arguments{"--sequence-parallel"}, "tp > 1");
    check_refused(plan + Arguments{"--sequence-parallel", "--tp", "1"}, "--sequence-parallel", "tp > 1");
    check_refused(estimate + Arguments{"--cp", "3", "--seq", "4096"}, "4096", "cp = 3");
    check_refused(estimate + Arguments{"--cp", "64", "--cp-mode", "ulysses", "--seq", "8192"}, "Ulysses", "64",
                  "32 heads");
    check_refused(estimate + Arguments{"--pp", "2", "--stage-layers", "10,10"}, "add up to 20", "32");
    check_refused(estimate + Arguments{"--pp", "2", "--stage-layers", "10,10,12"}, "3 entries", "2");
    check_refused(estimate + Arguments{"--pp", "2", "--stage-layers", "33,-1"}, "negative");
    check_refused(estimate + Arguments{"--pp", "2", "--stage-layers", "16,x"}, "--stage-layers");
    check_refused(estimate + Arguments{"--recompute-layers", "3"}, "--recompute-layers", "--recompute full");
    check_refused(plan + Arguments{"--recompute-layers", "3", "--recompute", "none"}, "--recompute-layers", "full");
    check_refused(estimate + Arguments{"--recompute-modules", "layer_norm"}, "--recompute-modules", "'layer_norm'",
                  "did you mean 'layernorm'");
    check_refused(estimate + Arguments{"--recompute-modules", "moe_act"}, "moe_act", "nothing to recompute");
    check_refused(estimate + Arguments{"--recompute-modules", "op,layernorm"}, "--recompute-modules", "beside op");
    check_refused(estimate + Arguments{"--recompute-modules", "mlp", "--recompute", "full"}, "--recompute-modules",
                  "--recompute selective");
    check_refused(plan + Arguments{"--recompute-modules", "mlp", "--recompute", "none,full"}, "--recompute-modules",
                  "selective");
    check_refused(plan + Arguments{"--recompute-modules", "moe"}, "--recompute-modules", "nothing to recompute");
    check_refused(estimate + Arguments{"--keep-activations", "qkvs"}, "--keep-activations", "did you mean 'qkv'");
    check_refused(estimate + Arguments{"--keep-activations", "layer_input"}, "--keep-activations", "'layer_input'");
    check_refused(estimate + Arguments{"--keep-activations", "expert_in"}, "kept activations", "has no activations");
    check_refused(estimate + Arguments{"--keep-activations", "qkv", "--recompute", "none"}, "--keep-activations",
                  "needs --recompute full");
    check_refused(plan + Arguments{"--keep-activations", "qkv", "--recompute", "none,selective"}, "--keep-activations",
                  "needs full");
    check_refused(estimate + Arguments{"--offload-activations", "qkv", "--offload", "optimizer"},
                  "--offload-activations", "needs activations");
    check_refused(estimate + Arguments{"--keep-activations", "context", "--attention", "unfused"}, "context",
                  "fused attention kernel");
    check_refused(estimate + Arguments{"--offload-activations", "qkv", "--recompute", "full"}, "--offload-activations",
                  "keeps layer_input", "--keep-activations");
    check_refused(estimate + Arguments{"--offload-activations", "expert_in"}, "offloaded activations",
                  "has no activations");
    check_refused(plan + Arguments{"--offload-activations", "qkv"}, "--offload-activations", "needs activations");
    check_refused(estimate + Arguments{"--offload-layers", "4", "--offload", "none"}, "--offload-layers",
                  "needs activations");
    check_refused(Arguments{"estimate", "--model", "gpt3-1.3b", "--cluster", "h100-sxm", "--fp8-activation-input"},
                  "activation in fp8", "gated feed-forwards");
    check_refused(
        Arguments{"plan", "--model", "gpt3-1.3b", "--cluster", "h100-sxm", "--gpus", "8", "--fp8-activation-input"},
        "--fp8-activation-input", "no gated feed-forward");
    check_refused(estimate + Arguments{"--narrow-copies"}, "narrow copies of weights with precision bf16", "fp8");
    check_refused(plan + Arguments{"--narrow-copies"}, "--narrow-copies", "--precision fp8");
    check_refused(estimate + Arguments{"--offload-layers", "-1"}, "--offload-layers", "-1");
    check_refused(estimate + Arguments{"--offload-layers", "4000"}, "offload of 4000 layers", "up to the");
    check_refused(plan + Arguments{"--offload-layers", "4"}, "--offload-layers", "needs activations");
    check_refused(estimate + Arguments{"--gradients", "fp32"}, "--gradients", "usual, bf16");
    check_refused(estimate + Arguments{"--gradients", "bf16", "--precision", "fp16"}, "gradients in bf16", "fp16");
    for (Arguments const& command : {estimate, plan})
        for (char const* precision : {"fp16", "fp32"})
            check_refused(command + Arguments{"--optimizer", "adamw-pure-bf16", "--precision", precision},
                          "adamw-pure-bf16", precision, "bf16, fp8 or fp4");
    check_refused(
        {"goodput", "--gpus", "64", "--parameters", "8e9", "--optimizer", "adamw-pure-bf16", "--precision", "fp16"},
        "adamw-pure-bf16", "fp16", "bf16, fp8 or fp4");
    check_refused(estimate + Arguments{"--optimizer", "adamw-pur-bf16"}, "unknown optimizer 'adamw-pur-bf16'",
                  "did you mean 'adamw-pure-bf16'", "adamw-8bit, adamw-pure-bf16, sgd");
    check_refused(estimate + Arguments{"--recompute-layers", "33", "--recompute", "full"}, "33", "32");
    check_refused(estimate + Arguments{"--shard-group", "3", "--dp", "4", "--zero", "3"}, "shard group 3", "4");
    check_refused(estimate + Arguments{"--shard-group", "2", "--dp", "4", "--zero", "0"}, "--shard-group", "ZeRO 0");
    check_refused({"estimate", "-m", "gpt2", "-c", "h100-sxm", "--seq", "2048"}, "2048", "1024 learned positions");
    check_refused({"plan", "-m", "gpt2", "-c", "h100-sxm", "-n", "8", "--seq", "2048"}, "2048",
                  "1024 learned positions");
    check_refused({"flops", "-m", "gpt2", "--seq", "2048"}, "2048", "1024 learned positions");
    check_refused({"memory", "-m", "mixtral-8x7b", "-c", "h100-sxm", "--ep", "3", "--dp", "3", "--global-batch", "3"},
                  "ep 3", "8 experts");
}

TEST_CASE("bad input: what the device does not have", "[INV-11]") {
    for (char const* command : {"estimate", "memory"})
        check_refused(Arguments{command} + llama + Arguments{"--precision", "fp8"}, "a100-sxm-80gb", "fp8", "it has:");
    check_refused(plan + Arguments{"--precision", "fp8"}, "a100-sxm-80gb", "fp8");
    for (char const* value : {"120%", "0%", "-5%", "nan%", "x%", "5 parsecs", "-5 GB", "1 TB", "80", "0 GB"}) {
        check_refused(estimate + Arguments{"--max-memory", value}, "--max-memory", value);
        check_refused(plan + Arguments{"--max-memory", value}, "--max-memory", value);
    }
    for (char const* value : {"nan", "inf", "-inf", "-1", "1e300", "two"})
        check_refused(estimate + Arguments{"--price", value}, "--price");
}

TEST_CASE("bad input: no output file is begun", "[INV-11]") {
    ScratchFolder const scratch("output");
    check_refused(estimate + Arguments{"--output", scratch.path("missing/report.txt")}, "missing", "does not exist");
    check_refused(estimate + Arguments{"--output", scratch.path("")}, "is a folder");
    check_refused(estimate + Arguments{"--tp", "5", "--output", scratch.path("report.txt")}, "tp 5");
    check_refused(plan + Arguments{"--tp", "5", "--output", scratch.path("report.txt")}, "--tp");
    CHECK(scratch.count() == 0);
}

TEST_CASE("bad input: a file to be written that another option names too is refused, and stays as it was", "[INV-11]") {
    ScratchFolder const scratch("twice");
    std::string const same = scratch.path("a.csv");
    Arguments const served{"serve", "simulate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--rate", "1"};
    check_refused(served + Arguments{"--requests", same, "--output", same}, "--output", "--requests", "a.csv");
    CHECK(scratch.count() == 0);
    std::string const trace = scratch.file("trace.csv", "arrival_s,prompt,output\n0,10,10\n");
    std::string const detour =
        scratch.path("../" + std::filesystem::path(scratch.path("")).parent_path().filename().string() + "/trace.csv");
    check_refused({"serve", "simulate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--trace", trace,
                   "--requests", detour},
                  "--requests", "--trace");
    check_refused({"validate", "train", trace, "--rows", trace}, "--rows", "files");
    CHECK(sextant::read_text_file(trace).ends_with("0,10,10\n"));
    // A preset's name is no file, though one be called so.
    CHECK(run_sextant({"models", "show", "llama-3.1-8b", "--output", scratch.path("llama-3.1-8b")}).code == 0);
}

TEST_CASE("a negative seed is refused by every command that takes one, and is not wrapped around", "[seed]") {
    std::vector<Arguments> const commands{
        {"goodput", "--gpus", "64", "--cluster", "h100-sxm"},
        {"trials", "budget"},
        {"simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "8", "--tp", "8", "--global-batch", "8"},
        {"rl", "-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "8", "--prompts", "8", "--prompt-tokens", "9"},
        {"scaling", "fit", "--law", "chinchilla", "--data", "x.csv"},
        {"serve", "plan", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--rate", "1"},
        {"serve", "simulate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--rate", "1"},
    };
    for (Arguments const& command : commands)
        for (std::string const seed : {"-1", "-9223372036854775808"})
            check_refused(command + Arguments{"--seed", seed}, "--seed: " + seed + " is negative");
    for (Arguments const& command : commands)
        for (std::string const seed : {"1.5", "99999999999999999999"})
            check_refused(command + Arguments{"--seed", seed}, "--seed: '" + seed + "'");
}

TEST_CASE("bad input: a whole number beyond 64 bits is refused as it was given, not cut", "[INV-11]") {
    for (std::string const number : {"99999999999999999999", "-99999999999999999999"}) {
        check_refused(estimate + Arguments{"--seq", number}, "--seq: " + number + " is out of range");
        check_refused(plan + Arguments{"--top", number}, "--top: " + number + " is out of range");
        check_refused({"serve", "simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "1", "--count", number},
                      "--count: " + number + " is out of range");
    }
}
