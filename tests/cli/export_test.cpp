#include "core/quantity_text.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/fixtures.hpp"

#include <filesystem>
#include <regex>

namespace {

Arguments const small{"--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--gpus", "16", "--tp", "2", "--pp", "2"};

/// The JSON report of an export.
Json exported(Arguments const& arguments) {
    RunResult const result = run_sextant(Arguments{"export"} + arguments + Arguments{"--report", "json"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

/// What `--report json` says of one plan, without the texts of the headline.
Json plan_of(Arguments const& estimate) { return report(Arguments{"estimate"} + estimate).at("plan"); }

/// The small plan with these options, as `estimate` writes it to a file.
std::string plan_file(ScratchFolder const& folder, Arguments const& options) {
    std::string file = folder.path("step.json");
    RunResult const run =
        run_sextant(Arguments{"estimate"} + small + options + Arguments{"--format", "json", "--output", file});
    REQUIRE(run.code == 0);
    return file;
}

}  // namespace

TEST_CASE("export: a file that runs something which does not fit ends with 1, and says so", "[export]") {
    Arguments const asked{"export",   "--framework", "deepspeed",     "--format",    "deepspeed", "--cluster",
                          "h100-sxm", "--model",     "mixtral-8x22b", "--ep",        "8",         "--zero",
                          "3",        "--seq",       "4096",          "--recompute", "full",      "--global-batch",
                          "64",       "--gpus"};
    RunResult const tight = run_sextant(asked + Arguments{"64"});
    CHECK(tight.code == 1);
    CHECK_THAT(tight.err, contains("what the files make of it does not: deepspeed ("));
    RunResult const roomy = run_sextant(Arguments{"export"} + small + Arguments{"--format", "megatron"});
    CHECK(roomy.code == 0);
}

TEST_CASE("export: the files of a plan come back as that plan", "[cli][export]") {
    ScratchFolder const folder("export_back");
    Arguments const plan = small + Arguments{"--micro-batch", "2", "--recompute", "full"};
    REQUIRE(run_sextant(Arguments{"export"} + plan +
                        Arguments{"--format", "megatron,deepspeed,torchtitan", "--output", folder.path("out")})
                .code == 0);
    Json wanted = plan_of(plan);
    Arguments const model{"--model", "llama-3.2-1b", "--cluster", "h100-sxm"};
    CHECK(plan_of(model + Arguments{"--from-megatron", folder.path("out/megatron.sh")}) == wanted);
    CHECK(plan_of(model + Arguments{"--from-deepspeed", folder.path("out/deepspeed.sh")}) == wanted);
    wanted["fused_cross_entropy"] = true;  // torchtitan's file compiles the loss
    CHECK(plan_of(model + Arguments{"--from-torchtitan", folder.path("out/torchtitan.toml")}) == wanted);
}

TEST_CASE("export: a file predicts no offload that it does not run", "[cli][export]") {
    auto const header = [](Arguments const& more) {
        Arguments const flat{"export", "--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--gpus", "16"};
        RunResult const run = run_sextant(flat + more);
        return unwrapped(std::regex_replace(run.out, std::regex("\n# +"), "\n"));
    };
    Arguments const zero{"--framework", "fsdp", "--zero", "3", "--format", "fsdp2", "--offload"};
    std::string const kept = header(zero + Arguments{"activations"});
    CHECK_THAT(kept, contains("of what this file runs, not of all that the plan says"));
    CHECK_THAT(kept, contains("activations are not offloaded"));
    for (char const* const format : {"fsdp", "torchtitan"}) {
        auto const offloads = [&](char const* stage) {
            return header({"--framework", format, "--zero", stage, "--format",
                           std::string_view(format) == "fsdp" ? "fsdp2" : format, "--offload", "optimizer"});
        };
        CHECK_THAT(offloads("3"), contains("of what this file runs, not of all that the plan says"));
        CHECK_THAT(offloads("2"), contains("of the plan, not of what this file runs: step"));
    }
}

TEST_CASE("export: a file predicts what it runs, by the constants that it names", "[cli][export]") {
    Arguments const dual{"--model",    "llama-3.2-1b", "--cluster", "h100-sxm",       "--gpus", "16",    "--tp",
                         "2",          "--pp",         "4",         "--global-batch", "64",     "--seq", "4096",
                         "--schedule", "dualpipe"};
    RunResult const run = run_sextant(Arguments{"export"} + dual + Arguments{"--format", "megatron"});
    std::string const file = unwrapped(std::regex_replace(run.out, std::regex("\n# +"), "\n"));
    CHECK_THAT(file, contains("of what this file runs, not of all that the plan says: step"));
    CHECK_THAT(file, contains("by the constants of megatron"));
    Arguments plain = dual;
    plain.back() = "1f1b";
    Json const runs = report(Arguments{"estimate"} + plain);
    Json const asked = report(Arguments{"estimate"} + dual);
    auto const step = [](Json const& json) {
        return "step " + sextant::human(json.at("iteration_time_s").get<double>() * sextant::units::s);
    };
    REQUIRE(step(runs) != step(asked));
    CHECK_THAT(file, contains(step(runs)));
    CHECK_THAT(file, !contains(step(asked)));
    RunResult const fragment = run_sextant(Arguments{"export"} + plain + Arguments{"--format", "fsdp2"});
    Json const flat = report(Arguments{"estimate", "--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--gpus", "16",
                                       "--tp", "2", "--global-batch", "64", "--seq", "4096"});
    CHECK_THAT(fragment.out, contains(step(flat)));
    RunResult const all = run_sextant(Arguments{"export"} + plain + Arguments{"--format", "megatron"});
    CHECK_THAT(all.out, contains("# Predicted: " + step(runs)));
}

TEST_CASE("export: a framework without a format of its own has the one of its library", "[cli][export]") {
    for (auto const& [framework, format] :
         {std::pair{"fsdp", "fsdp2"}, {"pytorch", "fsdp2"}, {"transformers", "fsdp2"}, {"generic", "megatron"}}) {
        ScratchFolder const folder("export_default");
        Arguments const question{"--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--gpus", "8"};
        Json const report = exported(question + Arguments{"--framework", framework, "--output", folder.path("out")});
        CHECK(report.dump().find(format) != std::string::npos);
        CHECK(std::filesystem::exists(folder.path("out/" + std::string(format) + ".sh")));
    }
}

TEST_CASE("export: packed documents come from a plan file, and no script says them", "[cli][export]") {
    ScratchFolder const folder("export_documents");
    std::string const file = plan_file(folder, {"--document-tokens", "256"});
    Json const report = exported({"--plan", file, "--output", folder.path("out")});
    CHECK(report.dump().find("documents of 256 tokens") != std::string::npos);
}

TEST_CASE("export: a loss in chunks comes from the plan file", "[cli][export]") {
    ScratchFolder const folder("export_chunks");
    std::string const file = plan_file(folder, {"--loss-chunks", "8", "--global-batch", "16"});
    RunResult const run = run_sextant({"export", "--plan", file, "--format", "maxtext"});
    CHECK(run.code == 0);
    CHECK_THAT(run.out, contains("num_vocab_tiling: 8"));
    check_refused(Arguments{"estimate"} + small + Arguments{"--loss-chunks", "0"}, "loss-chunks is 0");
    check_refused(Arguments{"estimate"} + small + Arguments{"--loss-chunks", "100000"}, "tokens on a rank");
}

TEST_CASE("export: a plan of a model or a cluster of one's own is not written for another of its name") {
    ScratchFolder const folder("export_names");
    std::string deeper = sextant::read_text_file(SEXTANT_SOURCE_DIR "/docs/examples/my-model/config.json");
    std::filesystem::create_directories(folder.path("llama-3.2-1b"));
    std::string const model = folder.path("llama-3.2-1b/config.json");
    sextant::write_text_file(model, deeper);
    auto const planned = [&](Arguments const& on) {
        std::string file = folder.path("plan.json");
        REQUIRE(run_sextant(Arguments{"estimate"} + on +
                            Arguments{"--gpus", "64", "--global-batch", "64", "--format", "json", "--output", file})
                    .code <= 1);
        return file;
    };
    std::string const own_model = planned({"--model", model, "--cluster", "h100-sxm"});
    RunResult const other = run_sextant({"export", "--plan", own_model});
    CHECK(other.code == 2);
    CHECK_THAT(other.err, contains("is another than 'llama-3.2-1b' of the catalogue") && contains("--model FILE"));
    CHECK(run_sextant({"export", "--plan", own_model, "--model", model}).code <= 1);

    std::string slow = sextant::read_text_file(SEXTANT_SOURCE_DIR "/docs/examples/our-h100s.json");
    auto const named = [&](std::string const& name) {
        return folder.file(name + ".json",
                           std::regex_replace(slow, std::regex(R"("name": "[^"]*")"), "\"name\": \"" + name + "\""));
    };
    RunResult const elsewhere =
        run_sextant({"export", "--plan", planned({"--model", "llama-3.2-1b", "--cluster", named("h100-sxm")}),
                     "--format", "megatron"});
    CHECK(elsewhere.code == 0);
    CHECK_THAT(elsewhere.err, contains("on 'h100-sxm' of the catalogue") && contains("--cluster FILE"));
    RunResult const unknown =
        run_sextant({"export", "--plan", planned({"--model", "llama-3.2-1b", "--cluster", named("nobodys")})});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains("nobodys") && contains("give them again"));
    CHECK(run_sextant({"export", "--plan", planned({"--model", "llama-3.2-1b", "--cluster", "h100-sxm"})}).err.empty());
}

TEST_CASE("export: a plan file gives its candidates by rank", "[cli][export]") {
    ScratchFolder const folder("export_rank");
    std::string const file = folder.path("plan.json");
    REQUIRE(run_sextant({"plan", "--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--gpus", "16", "--top", "3",
                         "--format", "json", "--output", file})
                .code == 0);
    Json const plans = Json::parse(sextant::read_text_file(file)).at("candidates");
    for (std::size_t rank = 1; rank <= plans.size(); ++rank) {
        std::string const script = folder.path("megatron-" + std::to_string(rank));
        REQUIRE(run_sextant({"export", "--plan", file, "--rank", std::to_string(rank), "--output", script}).code == 0);
        CHECK(plan_of({"--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--from-megatron",
                       script + "/megatron.sh"}) == plans[rank - 1].at("plan"));
    }
    check_refused({"export", "--plan", file, "--rank", "4"}, "--rank: 4 (the file has 1 to 3)");
    check_refused({"export", "--plan", folder.file("other.json", R"({"format": "memory", "version": 1})")},
                  "is no plan");
    check_refused({"export", "--plan", folder.file("cut.json", R"({"format": "pl)")}, "cut.json");
    check_refused({"export", "--plan", folder.path("none.json")}, "none.json");
}

TEST_CASE("export: the plan and the steps of a run are taken from its report", "[cli][export]") {
    ScratchFolder const folder("export_run");
    std::string const file = folder.path("run.json");
    REQUIRE(run_sextant({"run-plan", "--model", "llama-3.2-1b", "--tokens", "1e11", "--gpus", "16", "--cluster",
                         "h100-sxm", "--no-curve", "--format", "json", "--output", file})
                .code == 0);
    Json const run = Json::parse(sextant::read_text_file(file)).at("run");
    std::string const steps = std::to_string(run.at("steps").get<std::int64_t>());
    RunResult const exported = run_sextant({"export", "--plan", file, "--format", "megatron"});
    CHECK(exported.code == 0);
    CHECK_THAT(exported.out, contains("--train-iters " + steps));
    CHECK_THAT(run_sextant({"export", "--plan", file, "--format", "megatron", "--steps", "77"}).out,
               contains("--train-iters 77"));
    check_refused({"export", "--plan", file, "--rank", "2"}, "--rank: 2 (the file has one plan)");
}

TEST_CASE("export: the report says what is not expressed, and where the files are", "[cli][export]") {
    Json const json = exported(small + Arguments{"--schedule", "zb-h1", "--format", "megatron,slurm,kubernetes"});
    CHECK(json.at("format") == "export");
    CHECK(json.at("files").size() == 3);
    REQUIRE(json.at("not_expressed").size() == 1);
    CHECK(json.at("not_expressed")[0].at("field") == "schedule");
    CHECK(json.at("nodes") == 2);
    CHECK(json.at("gpus_per_node") == 8);
    CHECK(json.at("checkpoint_interval_steps").get<std::int64_t>() > 0);
    std::string const script = json.at("files")[0].at("text");
    CHECK_THAT(script, contains("# - schedule: "));
    CHECK_THAT(script, contains("--save-interval " + json.at("checkpoint_interval_steps").dump()));

    RunResult const result = run_sextant(Arguments{"export"} + small + Arguments{"--schedule", "zb-h1"});
    CHECK(result.code == 0);
    CHECK(result.out == script);
    CHECK_THAT(result.err, contains("not expressed by megatron"));
}

TEST_CASE("export: no file is replaced unless it is asked for", "[cli][export]") {
    ScratchFolder const folder("export_force");
    Arguments const command =
        Arguments{"export"} + small + Arguments{"--format", "deepspeed", "--output", folder.path("out")};
    REQUIRE(run_sextant(command).code == 0);
    sextant::write_text_file(folder.path("out/deepspeed.sh"), "mine\n");
    std::filesystem::remove(folder.path("out/ds_config.json"));
    check_refused(command, "deepspeed.sh is there already");
    CHECK_FALSE(std::filesystem::exists(folder.path("out/ds_config.json")));  // refused before anything is written
    CHECK(sextant::read_text_file(folder.path("out/deepspeed.sh")) == "mine\n");
    CHECK(run_sextant(command + Arguments{"--force"}).code == 0);
    CHECK(sextant::read_text_file(folder.path("out/deepspeed.sh")).starts_with("#!"));
    auto const mode = std::filesystem::status(folder.path("out/deepspeed.sh")).permissions();
    CHECK((mode & std::filesystem::perms::owner_exec) != std::filesystem::perms::none);
    check_refused(Arguments{"export"} + small + Arguments{"--output", folder.file("plain", "x")}, "is no folder");
}

TEST_CASE("export: the same question gives the same files", "[cli][export]") {
    Arguments const command = Arguments{"export"} + small + Arguments{"--format", "all", "--report", "json"};
    CHECK(run_sextant(command).out == run_sextant(command).out);
}

TEST_CASE("export: fabrics set what their description says and nothing else", "[cli][export]") {
    auto const job = [](char const* cluster, char const* format) {
        return run_sextant({"export", "--model", "llama-3.2-1b", "--cluster", cluster, "--dp", "16", "--global-batch",
                            "64", "--format", format})
            .out;
    };
    CHECK_THAT(job("h100-sxm", "slurm"), contains("export NCCL_IB_DISABLE=0"));
    CHECK_THAT(job("aws-p5", "slurm"), contains("export FI_PROVIDER=efa"));
    CHECK_THAT(job("gcp-a3-mega", "kubernetes"), contains("TCPX"));
    CHECK_THAT(job("h100-roce", "kubernetes"), contains("NCCL_IB_GID_INDEX"));
    CHECK_THAT(job("mi300x", "kubernetes"), contains("amd.com/gpu: 8"));
    for (char const* format : {"slurm", "kubernetes"}) {
        std::string const tpu = job("tpu-v5p", format);
        CHECK(tpu.find("NCCL_IB") == std::string::npos);
        CHECK_FALSE(tpu.empty());
    }
    CHECK_THAT(job("tpu-v5p", "kubernetes"), contains("google.com/tpu: 4"));
}

TEST_CASE("export: the jobs of MaxText tell processes on several nodes of GPUs where the others are", "[cli][export]") {
    auto const job = [](char const* cluster, char const* gpus, char const* format) {
        return run_sextant({"export", "--model", "llama-3.2-1b", "--cluster", cluster, "--dp", gpus, "--global-batch",
                            "64", "--format", std::string("maxtext,") + format, "--report", "json"})
            .out;
    };
    std::string const slurm = job("h100-sxm", "16", "slurm");
    CHECK_THAT(slurm, contains("export JAX_COORDINATOR_IP=$MASTER_ADDR JAX_COORDINATOR_PORT=$MASTER_PORT NNODES=2\\n"));
    CHECK_THAT(
        slurm,
        contains(
            R"(bash -c 'export NODE_RANK=$SLURM_PROCID; exec \"$@\"' bash python3 -m maxtext.trainers.pre_train.train)"));
    std::string const kubernetes = job("h100-sxm", "16", "kubernetes");
    CHECK_THAT(kubernetes,
               contains(R"(name: JAX_COORDINATOR_IP\n              value: \"llama-3-2-1b-0.llama-3-2-1b\")"));
    CHECK_THAT(kubernetes, contains(R"(name: JAX_COORDINATOR_PORT\n              value: \"29500\")"));
    CHECK_THAT(kubernetes, contains(R"(name: NNODES\n              value: \"2\")"));
    CHECK_THAT(kubernetes, contains("NODE_RANK=") && contains("$JOB_COMPLETION_INDEX"));
    for (char const* const format : {"slurm", "kubernetes"}) {
        CHECK(job("h100-sxm", "8", format).find("JAX_COORDINATOR") == std::string::npos);
        CHECK(job("tpu-v5p", "16", format).find("JAX_COORDINATOR") == std::string::npos);
    }
}

TEST_CASE("export: wrong questions are refused in one sentence", "[cli][export]") {
    check_refused({"export"}, "which model is trained");
    check_refused(Arguments{"export"} + small + Arguments{"--format", "megatrn"}, "did you mean 'megatron'");
    check_refused(Arguments{"export"} + small + Arguments{"--format", "megatron,nemo"}, "need a folder");
    check_refused(Arguments{"export"} + small + Arguments{"--report", "xml"}, "unknown report");
    check_refused(Arguments{"export"} + small + Arguments{"--steps", "0"}, "--steps");
    check_refused(Arguments{"export"} + small + Arguments{"--learning-rate", "nan"}, "--learning-rate");
    check_refused(Arguments{"export"} + small + Arguments{"--gpus-per-node", "0"}, "--gpus-per-node");
    check_refused(Arguments{"export"} + small + Arguments{"--gpus-per-node", "3"}, "does not divide the");
    check_refused(Arguments{"export"} + small + Arguments{"--data", "\xff"}, "not UTF-8");
    check_refused({"export", "--model", "nemotron-h-8b", "--cluster", "h100-sxm", "--gpus", "8"}, "recurrent layers");
}

TEST_CASE("estimate: what the command line says counts before the file", "[cli][import]") {
    ScratchFolder const folder("import_override");
    std::string const file = folder.file("train.sh",
                                         "--nnodes 2 --nproc-per-node 8 --tensor-model-parallel-size 2 --bf16 "
                                         "--micro-batch-size 1 --global-batch-size 64 --seq-length 2048 "
                                         "--use-distributed-optimizer --attention-dropout 0 --hidden-dropout 0");
    Arguments const command{"--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--from-megatron", file};
    CHECK(plan_of(command).at("dp") == 8);
    CHECK(plan_of(command + Arguments{"--tp", "4"}).at("dp") == 4);
    CHECK(plan_of(command + Arguments{"--gpus", "32"}).at("dp") == 16);
    CHECK(plan_of(command + Arguments{"--recompute", "full"}).at("recompute") == "full");
    CHECK(report(Arguments{"estimate"} + command + Arguments{"--seq", "1024"}).at("seq") == 1024);
    CHECK(report(Arguments{"estimate"} + command).at("framework") == "megatron");
    CHECK(report(Arguments{"memory"} + command).at("plan").at("tp") == 2);
    CHECK(run_sextant(Arguments{"simulate"} + command).code == 0);

    RunResult const text = run_sextant(Arguments{"estimate"} + command);
    CHECK_THAT(text.out, contains("what would be better: sextant plan --model llama-3.2-1b"));
    // The same question: its workload and machine, and not what would restrict the search.
    RunResult const other =
        run_sextant(Arguments{"estimate"} + command +
                    Arguments{"--seq", "1024", "--global-batch", "128", "--micro-batch", "2", "--max-memory", "70GB",
                              "--price", "3", "--framework", "megatron:release=24.07", "--precision", "fp8"});
    std::string const line = other.out.substr(other.out.find("what would be better:"));
    CHECK_THAT(line, contains(" --seq 1024 --global-batch 128 --framework megatron:release=24.07 --precision fp8 "
                              "--max-memory 70GB --price 3\n"));
    CHECK(line.find("--micro-batch") == std::string::npos);
    check_refused(Arguments{"estimate"} + command + Arguments{"--from-torchtitan", file}, "is given as well");
    check_refused(
        {"estimate", "--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--from-megatron", folder.path("no")}, "no");
    check_refused({"estimate", "--cluster", "h100-sxm",
                   "--from-megatron=--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --num-query-groups 8 "
                   "--ffn-hidden-size 28672"},
                  "--model is required; the list goes with ", "llama-2-70b", "llama-3.1-70b");
    check_refused({"estimate", "--cluster", "h100-sxm", "--from-megatron", file}, "--model is required (");
    check_refused({"estimate", "--cluster", "h100-sxm", "--from-megatron=--tensor-model-parallel-size 2"},
                  "--model is required (");
    check_refused({"estimate", "--model", "llama-3.2-1b", "--cluster", "h100-sxm",
                   "--from-megatron=--tensor-model-parallel-size 2 --bf16"},
                  "does not say how many accelerators");
}

TEST_CASE("memory: a script without prediction modules has none in its plan", "[cli][import]") {
    auto const state = [](std::string const& more) {
        Json const json = report({"memory", "--model", "deepseek-v3", "--cluster", "h100-sxm",
                                  "--from-megatron=--nnodes 128 --nproc-per-node 8 --pipeline-model-parallel-size 16 "
                                  "--expert-model-parallel-size 64 --expert-tensor-parallel-size 1 "
                                  "--decoder-first-pipeline-num-layers 4 --decoder-last-pipeline-num-layers 1 "
                                  "--seq-length 4096 --micro-batch-size 1 --global-batch-size 8192 --bf16 "
                                  "--use-distributed-optimizer --recompute-granularity full " +
                                      more});
        return json.dump();
    };
    CHECK(state("") == state("--mtp-num-layers 0"));
    CHECK(state("") != state("--mtp-num-layers 1"));
}

TEST_CASE("estimate: a file that fixes the sequences of a rank has a global batch of as many as its ranks have",
          "[cli][import]") {
    ScratchFolder const folder("import_batch");
    Arguments const model{"--model", "llama-3.2-1b", "--cluster", "h100-sxm"};
    auto const batch = [&](char const* command, Arguments const& file) {
        return report(Arguments{command} + model + file).at("global_batch").get<int>();
    };
    Arguments const titan{"--from-torchtitan",
                          folder.file("t.toml",
                                      "[training]\nseq_len = 2048\n[activation_checkpoint]\nmode = "
                                      "\"full\"\n[parallelism]\ntensor_parallel_degree = 2\n")};
    CHECK(batch("estimate", titan + Arguments{"--gpus", "16"}) == 64);  // 8 of each of 8 ranks
    CHECK(batch("estimate", titan + Arguments{"--dp", "4"}) == 32);
    CHECK(batch("simulate", titan + Arguments{"--gpus", "16"}) == 64);
    CHECK(batch("plan", titan + Arguments{"--gpus", "16"}) == 64);
    CHECK(batch("plan", titan + Arguments{"--gpus", "16", "--global-batch", "128"}) == 128);
    Arguments const megatron{
        "--from-megatron=--micro-batch-size 2 --bf16 --seq-length 2048 --nnodes 1 "
        "--nproc-per-node 8 --attention-dropout 0 --hidden-dropout 0"};
    CHECK(batch("estimate", megatron) == 16);
    CHECK(batch("estimate", megatron + Arguments{"--gpus", "16"}) == 32);
    Arguments const deepspeed{
        "--from-deepspeed",
        folder.file("ds.json", R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
                                   "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})")};
    CHECK(batch("estimate", deepspeed + Arguments{"--gpus", "16", "--tp", "2", "--seq", "2048"}) == 64);
    Arguments const once{"--from-deepspeed", folder.file("once.json", R"({"train_micro_batch_size_per_gpu": 2,
                                                      "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})")};
    CHECK(batch("estimate", once + Arguments{"--gpus", "16", "--seq", "2048"}) == 32);
    Arguments const left{
        "--from-deepspeed",
        folder.file("left.json",
                    R"({"train_batch_size": 64, "gradient_accumulation_steps": 2, "bf16": {"enabled": true},
                                     "zero_optimization": {"stage": 1}})")};
    CHECK(plan_of(model + left + Arguments{"--gpus", "16", "--seq", "2048"}).at("micro_batch") == 2);
    CHECK(plan_of(model + left + Arguments{"--gpus", "16", "--tp", "2", "--seq", "2048"}).at("micro_batch") == 4);
    CHECK(plan_of(model + left + Arguments{"--gpus", "16", "--micro-batch", "1", "--seq", "2048"}).at("micro_batch") ==
          1);
    CHECK(report(Arguments{"plan"} + model + left + Arguments{"--gpus", "16", "--seq", "2048"})
              .at("present")
              .at("plan")
              .at("micro_batch") == 2);
    check_refused(Arguments{"estimate"} + model + left + Arguments{"--gpus", "24", "--seq", "2048"}, "24 x 2");
    Arguments const export_titan =
        Arguments{"export"} + model + titan + Arguments{"--gpus", "16", "--format", "torchtitan"};
    CHECK_THAT(run_sextant(export_titan).out, contains("global_batch_size = 64"));
}

TEST_CASE("estimate: Accelerate's file gives a plan, with DeepSpeed's JSON beside it", "[cli][import]") {
    ScratchFolder const folder("import_accelerate");
    Arguments const model{"--model", "llama-3.2-1b", "--cluster", "h100-sxm"};
    std::string const head = "mixed_precision: bf16\nnum_processes: 16\n";
    Arguments const fsdp{"--from-accelerate",
                         folder.file("fsdp.yaml", head + "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n")};
    Arguments const rest{"--seq", "2048", "--micro-batch", "2", "--global-batch", "64"};
    Json const plan = plan_of(model + fsdp + rest);
    CHECK(plan.at("dp") == 16);
    CHECK(plan.at("zero") == 3);
    CHECK(plan.at("micro_batch") == 2);
    CHECK(report(Arguments{"estimate"} + model + fsdp + rest).at("framework") == "transformers");
    CHECK_THAT(run_sextant(Arguments{"estimate"} + model + fsdp + rest).out, contains("--from-accelerate"));
    static_cast<void>(folder.file("ds.json", R"({"zero_optimization": {"stage": 2}})"));
    Arguments const deepspeed{"--from-accelerate",
                              folder.file("ds.yaml", head + "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
                                                            "  deepspeed_config_file: ds.json\n")};
    CHECK(plan_of(model + deepspeed + rest).at("zero") == 2);
    CHECK(report(Arguments{"plan"} + model + deepspeed + rest).at("present").at("plan").at("dp") == 16);
    check_refused(Arguments{"estimate"} + model + deepspeed + fsdp, "--from-accelerate");
    // Accumulation without a batch: of so many micro-batches on each rank; of a global batch it leaves the micro-batch.
    Arguments const steps{"--from-accelerate",
                          folder.file("steps.yaml", head + "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
                                                           "  gradient_accumulation_steps: 4\n  zero_stage: 2\n"),
                          "--seq", "2048"};
    CHECK(report(Arguments{"estimate"} + model + steps).at("global_batch") == 4 * 16);
    Arguments const two = Arguments{"estimate"} + model + steps + Arguments{"--micro-batch", "2"};
    CHECK(report(two).at("global_batch") == 128);
    CHECK_THAT(run_sextant(two).out, contains(" --seq 2048 --global-batch 128\n"));
    CHECK(plan_of(model + steps + Arguments{"--global-batch", "192"}).at("micro_batch") == 3);
    check_refused(Arguments{"estimate"} + model + steps + Arguments{"--global-batch", "32"}, "global batch",
                  "ranks x accumulation steps = 16 x 4");
}

TEST_CASE("plan: an imported plan stands beside the best", "[cli][import]") {
    ScratchFolder const folder("import_plan");
    std::string const file = folder.file(
        "t.toml",
        "[training]\nlocal_batch_size = 1\nglobal_batch_size = 64\nseq_len = 2048\n[parallelism]\n"
        "data_parallel_shard_degree = 2\ntensor_parallel_degree = 8\n[activation_checkpoint]\nmode = \"full\"\n"
        "[compile]\nenable = true\n");
    Arguments const command{"--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--from-torchtitan", file};
    Json const json = report(Arguments{"plan"} + command);
    Json const& present = json.at("present");
    CHECK(present.at("plan").at("tp") == 8);
    CHECK(present.at("plan") == plan_of(command));
    CHECK(json.at("framework") == "torchtitan");
    CHECK(json.at("global_batch") == 64);
    Json const& best = json.at("candidates")[0].at("report");
    CHECK(best.at("gpus") == 16);
    CHECK(best.at("iteration_time_s") <= present.at("report").at("iteration_time_s"));
    CHECK_THAT(run_sextant(Arguments{"plan"} + command).out, contains("present: tp8"));
    // What restricts the search does not touch the present plan.
    CHECK(report(Arguments{"plan"} + command + Arguments{"--tp", "1"}).at("present").at("plan").at("tp") == 8);
}
