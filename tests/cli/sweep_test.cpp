#include "cli/page/plotting_library.hpp"
#include "cli/sweep/worker_pool.hpp"
#include "core/csv.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

using namespace sextant;

namespace {

Arguments const small_estimate{"sweep", "estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm"};

CsvTable rows(Arguments const& arguments, int code = 0) {
    RunResult const result = run_sextant(arguments + Arguments{"--format", "csv"});
    INFO(result.err);
    REQUIRE(result.code == code);
    return parse_csv(result.out, "sweep");
}

Arguments words_of(std::string const& text) {
    Arguments words;
    std::istringstream in(text);
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

std::string cell(CsvTable const& table, std::size_t row, std::string_view column) {
    auto const at = table.find(column);
    REQUIRE(at);
    return table.records.at(row).cells[*at];
}

}  // namespace

TEST_CASE("a row of a sweep has what the command says of that point") {
    CsvTable const table = rows(small_estimate + Arguments{"--axis", "gpus=8,16", "--axis", "tp=2,4", "--columns",
                                                           "iteration_time_s,memory.peak_bytes,plan.dp,fits"});
    REQUIRE(table.records.size() == 4);
    CHECK(table.header == Arguments{"point", "gpus", "tp", "status", "iteration_time_s", "memory.peak_bytes", "plan.dp",
                                    "fits", "reason"});
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(cell(table, i, "point") == std::to_string(i));
        Json const alone = report({"estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--gpus",
                                   cell(table, i, "gpus"), "--tp", cell(table, i, "tp")});
        CHECK(cell(table, i, "iteration_time_s") == alone["iteration_time_s"].dump());
        CHECK(cell(table, i, "memory.peak_bytes") == alone["memory"]["peak_bytes"].dump());
        CHECK(cell(table, i, "plan.dp") == alone["plan"]["dp"].dump());
        CHECK(cell(table, i, "fits") == "true");
        CHECK(cell(table, i, "status") == "ok");
    }
}

TEST_CASE("the same sweep on any number of workers has the same rows") {
    Arguments const sweep = small_estimate + Arguments{"--axis", "gpus=8..256x2",   "--axis",   "tp=1,2,4,8,16",
                                                       "--axis", "micro-batch=1,2", "--format", "csv"};
    std::string const one = run_sextant(sweep + Arguments{"--threads", "1"}).out;
    CHECK(one.size() > 1000);
    CHECK(run_sextant(sweep + Arguments{"--threads", "3"}).out == one);
    CHECK(run_sextant(sweep + Arguments{"--threads", "7"}).out == one);
}

TEST_CASE("a value of a profile is an axis: the row is that of a machine with that value") {
    CsvTable const table =
        rows(small_estimate + Arguments{"--gpus", "64", "--tp", "8", "--axis", "inter_node_bandwidth=x0.5,x1,100 GB/s",
                                        "--columns", "iteration_time_s,cluster"});
    Json const plain =
        report({"estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--gpus", "64", "--tp", "8"});
    CHECK(cell(table, 1, "iteration_time_s") == plain["iteration_time_s"].dump());
    CHECK(std::stod(cell(table, 0, "iteration_time_s")) > std::stod(cell(table, 1, "iteration_time_s")));
    CHECK(std::stod(cell(table, 1, "iteration_time_s")) > std::stod(cell(table, 2, "iteration_time_s")));
    CHECK(cell(table, 2, "cluster") == "h100-sxm:inter_node_bandwidth=100 GB/s");
}

TEST_CASE("changes find the name they belong to, however it is given, or the option's usual value") {
    auto const lines = [](Arguments const& arguments) {
        RunResult const result = run_sextant(Arguments{"sweep"} + arguments + Arguments{"--dry-run"});
        INFO(result.err);
        REQUIRE(result.code == 0);
        return result.out;
    };
    CHECK(lines({"estimate", "-m", "gpt2", "-c", "h100-sxm", "--axis", "peak=x2"}) ==
          "sextant estimate -m gpt2 -c h100-sxm:peak=x2\n");
    CHECK(lines({"estimate", "-m", "gpt2", "-ch100-sxm", "--axis", "tp_overlap=x0.5"}) ==
          "sextant estimate -m gpt2 -ch100-sxm --framework=megatron:tp_overlap=x0.5\n");
    CHECK(lines({"estimate", "-m", "gpt2", "--axis", "cluster=h100-sxm,a100-sxm-80gb", "--axis", "price=x2"}) ==
          "sextant estimate -m gpt2 --cluster=h100-sxm:price=x2\n"
          "sextant estimate -m gpt2 --cluster=a100-sxm-80gb:price=x2\n");
    CHECK(lines({"serve", "plan", "--model=gpt2", "--cluster=h100-sxm,l40s", "--rate", "1", "--axis",
                 "hbm_bandwidth=25 GB/s"}) ==
          "sextant serve plan --model=gpt2 '--cluster=h100-sxm:hbm_bandwidth=25 GB/s,l40s:hbm_bandwidth=25 GB/s' "
          "--rate 1\n");
    CHECK(
        lines({"estimate", "-c", "h100-sxm", "--axis", "model=gpt2,gpt2-xl", "--axis", "layers=4"}) ==
        "sextant estimate -c h100-sxm --model=gpt2:layers=4\nsextant estimate -c h100-sxm --model=gpt2-xl:layers=4\n");
    CHECK(lines({"estimate", "-m", "gpt2", "-c", "h100-sxm", "--axis", "dropout=true,false"}) ==
          "sextant estimate -m gpt2 -c h100-sxm --dropout\nsextant estimate -m gpt2 -c h100-sxm --no-dropout\n");
    CHECK(lines({"estimate", "-m", "gpt2", "-c", "h100-sxm", "--axis", "gpus=8,16", "--axis", "dp=4,8", "--zip",
                 "gpus,dp"}) ==
          "sextant estimate -m gpt2 -c h100-sxm --gpus=8 --dp=4\n"
          "sextant estimate -m gpt2 -c h100-sxm --gpus=16 --dp=8\n");
}

TEST_CASE("a point that fails is a row with its reason, one whose answer is no a row with its figures") {
    CsvTable const table = rows(small_estimate + Arguments{"--gpus", "8", "--axis", "tp=8,3,1,99999999999999999999"});
    CHECK(cell(table, 0, "status") == "ok");
    CHECK(cell(table, 1, "status") == "failed");
    CHECK_THAT(cell(table, 1, "reason"), contains("not a multiple"));
    CHECK(cell(table, 1, "mfu").empty());
    CHECK(cell(table, 2, "status") == "no");
    CHECK(cell(table, 2, "fits") == "false");
    CHECK_FALSE(cell(table, 2, "mfu").empty());
    CHECK_THAT(cell(table, 3, "reason"), contains("out of range"));
}

TEST_CASE("the page of a sweep calls a point whose answer is no by that word where it has no reason") {
    if (sextant::cli::plotting_library().empty()) return;
    std::string const page =
        run_sextant(small_estimate + Arguments{"--gpus", "8", "--axis", "tp=8,4,1", "--format", "html"}).out;
    CHECK_THAT(page, contains("all points (no)") && !contains("all points ()"));
}

TEST_CASE("a sweep without one answer ends with code 1, and says how many points failed") {
    RunResult const result = run_sextant(small_estimate + Arguments{"--gpus", "8", "--axis", "tp=3,5"});
    CHECK(result.code == 1);
    CHECK_THAT(result.err, contains("2 of 2 points failed"));
    CHECK_THAT(result.out, contains("not a multiple"));
}

TEST_CASE("a simulation sweeps as every command does") {
    CsvTable const table =
        rows({"sweep", "simulate", "--model", "gpt2", "--cluster", "h100-sxm", "--gpus", "4", "--global-batch", "8",
              "--axis", "pp=1,2", "--columns", "iteration_time_s,bubble_share"});
    CHECK(cell(table, 0, "bubble_share") == "0.0");
    CHECK(std::stod(cell(table, 1, "bubble_share")) > 0);
}

TEST_CASE("the usual columns of a command are values that its report has") {
    std::string const question = GENERATE(
        as<std::string>{}, "estimate -m gpt2 -c h100-sxm --axis gpus=8", "memory -m gpt2 -c h100-sxm --axis dp=8",
        "flops -m gpt2 --axis seq=512", "plan -m gpt2 -c h100-sxm --axis gpus=8",
        "simulate -m gpt2 -c h100-sxm --global-batch 8 --axis gpus=2",
        "run-plan -m gpt2 -c h100-sxm --tokens 1B --axis gpus=8", "goodput --parameters 70B --days 30 --axis gpus=1024",
        "trials budget --full 9 --axis trials=9", "trials schedule --tokens 1B --lr 3e-4 --axis batch=1M",
        "scaling predict --params 1B --axis tokens=1e12", "scaling optimum --axis flops=1e21",
        "serve estimate --model llama-3.1-8b -c h100-sxm --axis tp=1",
        "serve simulate --model llama-3.1-8b -c h100-sxm --count 20 --axis rate=1",
        "serve plan --model llama-3.1-8b -c h100-sxm --pp 1 --ttft 2s --tpot 50ms --axis rate=1",
        "collective -c h100-sxm --algorithm ring --axis gpus=8", "models show gpt2 --axis seq=512");
    CsvTable const table = rows(Arguments{"sweep"} + words_of(question));
    CAPTURE(question, cell(table, 0, "reason"));
    REQUIRE(table.records.size() == 1);
    CHECK(cell(table, 0, "status") == "ok");
    for (std::size_t i = 0; i < table.header.size(); ++i)
        if (table.header[i] != "reason") {
            CAPTURE(table.header[i]);
            CHECK_FALSE(table.records[0].cells[i].empty());
        }
}

TEST_CASE("csv, jsonl and json have the same values") {
    Arguments const sweep =
        small_estimate + Arguments{"--axis", "gpus=8,12", "--axis", "tp=8", "--columns", "mfu,fits,model"};
    CsvTable const csv = rows(sweep);
    RunResult const lines = run_sextant(sweep + Arguments{"--format", "jsonl"});
    Json const whole = Json::parse(run_sextant(sweep + Arguments{"--format", "json"}).out);
    CHECK(whole["format"] == "sweep");
    CHECK(whole["points"] == 2);
    std::istringstream in(lines.out);
    std::string line;
    for (std::size_t i = 0; std::getline(in, line); ++i) {
        Json const row = Json::parse(line);
        CHECK(row["point"] == i);
        CHECK(row["gpus"].dump() == cell(csv, i, "gpus"));
        CHECK(row["status"] == cell(csv, i, "status"));
        CHECK((row["mfu"].is_null() ? "" : row["mfu"].dump()) == cell(csv, i, "mfu"));
        CHECK(whole["rows"][i]["values"]["mfu"] == row["mfu"]);
        CHECK(whole["rows"][i]["settings"]["gpus"] == row["gpus"]);
        CHECK(whole["rows"][i]["values"]["model"] == row["model"]);
    }
}

TEST_CASE("sensitivity names the axis that matters and the law it follows") {
    Json const sweep =
        Json::parse(run_sextant({"sweep", "scaling", "optimum", "--axis", "flops=1e21..1e24x10", "--columns",
                                 "parameters", "--sensitivity", "parameters", "--format", "json"})
                        .out);
    Json const& effect = sweep["sensitivity"]["effects"][0];
    CHECK(effect["axis"] == "flops");
    CHECK(effect["variance_share"].get<double>() == Approx(1));
    CHECK(effect["elasticity"].get<double>() == Approx(0.51).margin(0.06));  // a of N ~ C^a
    RunResult const text =
        run_sextant(small_estimate + Arguments{"--gpus", "64", "--axis", "tp=2,8", "--axis", "price=x1,x9",
                                               "--sensitivity", "million_tokens_cost_usd"});
    CHECK_THAT(text.out, contains("price"));
    CHECK(text.out.find("\nprice") < text.out.rfind("\ntp "));
}

TEST_CASE("--list-columns shows every value of the report and needs no axis") {
    RunResult const result = run_sextant({"sweep", "flops", "-m", "gpt2", "--list-columns"});
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("stages.0.parameters = 1"));
    CHECK_THAT(result.out, contains("\nmodel = gpt2\n"));
}

TEST_CASE("a column is found by the end of its path, and a sweep of none that there are is refused") {
    Arguments const eight = small_estimate + Arguments{"--axis", "gpus=8,16", "--tp", "8"};
    CsvTable const table = rows(eight + Arguments{"--columns", "peak_bytes"});
    CsvTable const whole = rows(eight + Arguments{"--columns", "memory.peak_bytes"});
    REQUIRE(table.records.size() == 2);
    CHECK(table.records[1].cells == whole.records[1].cells);
    RunResult const none = run_sextant(eight + Arguments{"--columns", "cost,time"});
    CHECK(none.code == 2);
    CHECK_THAT(none.err, contains("has no 'cost', 'time'") && contains("iteration_time_s") && contains("cost_usd"));
}

TEST_CASE("a sweep over machines says which of them has no price") {
    RunResult const result = run_sextant({"sweep", "estimate", "-m", "llama-3.2-1b", "--gpus", "8", "--axis",
                                          "cluster=h100-sxm,mi325x", "--format", "json"});
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, contains("mi325x: no price is known (--axis price=... --zip cluster,price)"));
}

TEST_CASE("a column that no report has is said, and where to look") {
    RunResult const result =
        run_sextant(small_estimate + Arguments{"--axis", "gpus=8", "--tp", "8", "--columns", "mfuu,mfu"});
    CHECK(result.code == 0);
    CHECK_THAT(result.err, contains("has no 'mfuu' (--list-columns"));
    RunResult const moved =
        run_sextant(small_estimate + Arguments{"--axis", "gpus=8,16", "--tp", "8", "--sensitivity", "mfuu"});
    CHECK_THAT(moved.err, contains("has no 'mfuu' (--list-columns"));
    CHECK(std::count(moved.err.begin(), moved.err.end(), '\n') == 1);  // nothing of the usual columns
    // Of points that do not fit there are reports too.
    RunResult const misfits = run_sextant(small_estimate + Arguments{"--axis", "tp=1,2", "--columns", "mfuu"});
    CHECK(misfits.code == 0);
    CHECK_THAT(misfits.err, contains("point 0 has no 'mfuu' (--list-columns"));
}

TEST_CASE("a sweep takes options of its command from that command's table of --config") {
    ScratchFolder const folder("sweep");
    std::string const file = folder.path("x.toml");
    std::ofstream(file) << "[sweep]\naxis = \"gpus=8,16\"\n[estimate]\ntp = 8\nmodel = \"gpt2\"\n[plan]\ntop = 2\n";
    RunResult const from_file = run_sextant({"sweep", "estimate", "--config", file, "-c", "h100-sxm", "--tp", "4"});
    RunResult const from_line =
        run_sextant({"sweep", "estimate", "-m", "gpt2", "-c", "h100-sxm", "--tp", "4", "--axis", "gpus=8,16"});
    CHECK(from_line.code == 0);
    CHECK(from_file.code == 0);
    auto const rows = [](std::string const& text) { return text.substr(text.find('\n')); };  // below the command line
    CHECK(rows(from_file.out) == rows(from_line.out));
    RunResult const written =
        run_sextant({"sweep", "estimate", "-m", "a b", "--axis", "gpus=8", "--write-config", "-"});
    CHECK_THAT(written.out, contains("sextant sweep estimate -m 'a b' --config THIS_FILE"));
}

TEST_CASE("questions that no sweep can answer are refused", "[bad-input]") {
    auto const [arguments, part] = GENERATE(table<char const*, char const*>({
        {"", "no command is named"},
        {"sweep --axis a=1", "'sweep' is no command to sweep"},
        {"estimat --axis a=1", "did you mean 'estimate'"},
        {"export -m gpt2 --axis gpus=1", "'export' writes no JSON report"},
        {"completion --axis shell=bash", "'completion' writes no JSON report"},
        {"estimate -c h100-sxm --axis model=x0.5", "model: factors (x0.5) are of a profile's values"},
        {"estimate -m gpt2 --axis gpus=1,2 --zip gpus", "'gpus' alone"},
        {"estimate -m gpt2 --axis gpus=1 --overwrite", "needs --output"},
        {"estimate -m gpt2 -c h100-sxm --axis gpus=1 --output /tmp --overwrite --format csv", "/tmp: is a folder"},
        {"serve --axis a=1", "a subcommand is needed"},
        {"serve estimat --axis a=1", "did you mean 'estimate'"},
        {"estimate", "nothing varies"},
        {"estimate -m gpt2 -c h100-sxm --axis gpu=1", "did you mean 'gpus'"},
        {"estimate -m gpt2 -c h100-sxm --axis inter_node_bandwith=x2", "did you mean 'inter_node_bandwidth'"},
        {"estimate -m gpt2 -c h100-sxm --axis num_layer=2", "did you mean"},
        {"estimate -m gpt2 -c h1000 --axis peak=x2", "unknown cluster 'h1000'"},
        {"estimate -m gpt2 --tp 2 --axis tp=1", "is given as --tp too"},
        {"estimate -m gpt2 -n 2 --axis gpus=1", "is given as --gpus too"},
        {"estimate -m gpt2 --axis gpus=1 --axis gpus=2", "are the same"},
        {"estimate -m gpt2 --axis gpus=1 --axis n=2", "are the same"},
        {"estimate -m gpt2 --axis format=csv", "the sweep's own option"},
        {"estimate -m gpt2 --axis dropout=yes", "true or false"},
        {"estimate -m gpt2 --axis gpus=1 --globl-batch 8", "did you mean '--global-batch'"},
        {"rl -m gpt2 -c h100-sxm --axis kernel_gap=x2", "say framework.kernel_gap or engine.kernel_gap"},
        {"estimate -m gpt2 --axis gpus=1..1000 --axis tp=1..1000 --axis pp=1..1001", "points"},
        {"estimate -m gpt2 --axis gpus=1..2000 --axis tp=1..1000", "too many for one report"},
        {"estimate -m gpt2 --axis gpus=1 --columns ,", "empty entry"},
        {"estimate -m gpt2 --axis gpus=1 --columns mfu,mfu", "named twice"},
        {"estimate -m gpt2 --axis gpus=1 --columns gpus", "is a column already"},
        {"estimate -m gpt2 --axis gpus=1 --columns reason", "is a column already"},
        {"estimate -m gpt2 --axis gpus=1 --shard 0/3", "--shard"},
        {"estimate -m gpt2 --axis gpus=1 --shard 4/3", "--shard"},
        {"estimate -m gpt2 --axis gpus=1 --shard 1/2/3", "--shard"},
        {"estimate -m gpt2 --axis gpus=1 --shard 1/2", "2 shards of 1 points"},
        {"estimate -m gpt2 --axis gpus=1 --threads -1", "--threads"},
        {"estimate -m gpt2 --axis gpus=1 --threads 9999", "--threads"},
        {"estimate -m gpt2 --axis gpus=1 --resume", "needs --output"},
        {"estimate -m gpt2 --axis gpus=1 --format cvs", "did you mean 'csv'"},
        {"estimate -m gpt2 --axis gpus=1 --output /nowhere/at/all.csv", "/nowhere/at/all.csv"},
        {"validate train x.csv --axis profile=a", "which values of 'validate train' are wanted"},
    }));
    check_refused(Arguments{"sweep"} + words_of(arguments), part);
}

TEST_CASE("a worker that is killed costs one row, and the others go on") {
    using namespace sextant::cli;
    WorkerPool pool(
        [](std::int64_t point) {
            if (point % 7 == 3) std::raise(SIGKILL);
            return SweepRow{.point = point, .status = PointStatus::done, .cells = {}, .reason = ""};
        },
        2);
    std::map<std::int64_t, SweepRow> got;
    std::int64_t next = 0;
    while (got.size() < 40) {
        while (next < 40 && pool.wanted() > 0)
            pool.submit(next++);
        for (SweepRow& row : pool.collect(std::chrono::milliseconds(1000))) {
            CHECK(got.count(row.point) == 0);
            got[row.point] = std::move(row);
        }
    }
    CHECK(pool.pending() == 0);
    for (auto const& [point, row] : got) {
        INFO(point);
        CHECK((row.status == PointStatus::failed) == (point % 7 == 3));
        if (point % 7 == 3) CHECK(row.reason == "the process was killed by SIGKILL");
    }
}

TEST_CASE("a point that never ends, or whose worker is stopped, is cut off and costs one row") {
    using namespace sextant::cli;
    WorkerPool pool(
        [](std::int64_t point) {
            if (point == 3) std::raise(SIGSTOP);
            while (point == 11)
                pause();
            return SweepRow{.point = point, .status = PointStatus::done, .cells = {}, .reason = ""};
        },
        2, 0.2 * sextant::units::s);
    std::map<std::int64_t, SweepRow> got;
    for (std::int64_t point = 0; point < 20; ++point)
        pool.submit(point);
    while (got.size() < 20)
        for (SweepRow& row : pool.collect(std::chrono::milliseconds(50)))
            got[row.point] = std::move(row);
    CHECK(pool.pending() == 0);
    for (auto const& [point, row] : got) {
        INFO(point);
        CHECK((row.status == PointStatus::failed) == (point == 3 || point == 11));
        if (row.status == PointStatus::failed) CHECK(row.reason == "not finished within 0.2 s");
    }
}

TEST_CASE("sweep: a limit of a point's time is a time above zero, and the reason of a point beyond it", "[INV-11]") {
    Arguments const sweep{"sweep", "estimate", "-m", "gpt2", "-c", "h100-sxm", "--axis", "dp=1,2", "--point-limit"};
    check_refused(sweep + Arguments{"0 s"}, "--point-limit");
    check_refused(sweep + Arguments{"soon"}, "--point-limit");
    CHECK(run_sextant(sweep + Arguments{"5 min"}).code == 0);
}
