#include "cli/calibrate/child_process.hpp"
#include "core/random_stream.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace sextant;

namespace {

Arguments const question{"sweep",  "estimate",  "--model", "gpt2",     "--cluster", "h100-sxm",
                         "--axis", "gpus=1..8", "--axis",  "tp=1,2,3", "--axis",    "inter_node_bandwidth=x0.5,x1"};
/// Enough points to be killed among them.
Arguments const long_question = question + Arguments{"--axis", "global-batch=8..96+8"};

std::string written(Arguments const& arguments, std::string const& file, int code = 0) {
    RunResult const result = run_sextant(arguments + Arguments{"--output", file});
    INFO(result.err);
    REQUIRE(result.code == code);
    return read_text_file(file);
}

off_t size_of(std::string const& file) {
    struct stat status {};
    return stat(file.c_str(), &status) == 0 ? status.st_size : 0;
}

/// Runs the built program and kills it as soon as the file has grown to `size`. True if it was killed.
bool run_and_kill(Arguments const& arguments, std::string const& file, off_t size) {
    Arguments words{SEXTANT_PROGRAM};
    words = words + arguments;
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        int const nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDERR_FILENO);
        execv(argv[0], argv.data());
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (size_of(file) >= size) kill(child, SIGKILL);
        sched_yield();
    }
    REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

/// The record beside a file with one thing changed.
void change_record(std::string const& file, std::string const& key, Json const& value) {
    Json record = Json::parse(read_text_file(file + ".sweep.json"));
    record[key] = value;
    write_text_file(file + ".sweep.json", record.dump());
}

}  // namespace

TEST_CASE("killed at ten moments and resumed, a sweep has the rows of one that ran through") {
    auto const format = GENERATE(std::string("csv"), std::string("jsonl"));
    ScratchFolder const folder("sweep_kill");
    std::string const whole = written(long_question, folder.path("whole." + format));
    std::string const file = folder.path("killed." + format);
    RandomStream random(20251122, 0, 0);
    int kills = 0;
    for (int i = 0; i < 10; ++i) {
        // From the first byte to shortly before the end, now and then with a line torn afterwards.
        auto const size = static_cast<off_t>(0.95 * random.uniform() * static_cast<double>(whole.size()));
        kills += run_and_kill(long_question + Arguments{"--output", file, "--resume"}, file, size) ? 1 : 0;
        if (i % 3 == 1 && size_of(file) > 40)
            std::filesystem::resize_file(file, static_cast<std::uintmax_t>(size_of(file) - 17));
    }
    CHECK(kills >= 5);
    CHECK(written(long_question + Arguments{"--resume"}, file) == whole);
    CHECK(written(long_question + Arguments{"--resume"}, file) == whole);  // and nothing is left to do
}

TEST_CASE("what is no row at the end of a file is cut off and computed anew") {
    ScratchFolder const folder("sweep_torn");
    std::string const file = folder.path("a.csv");
    std::string const whole = written(question, file);
    auto const damage =
        GENERATE(std::string("17,half a li"), std::string("17,1,2,3,4\n99,a row of another point,,,,\n"),
                 std::string(300, '\0'), std::string("\n\n\n"), std::string("point,gpus\n"));
    std::size_t const keep = whole.find("\n17,") + 1;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, keep) << damage;
    RunResult const resumed = run_sextant(question + Arguments{"--output", file, "--resume"});
    CHECK(resumed.code == 0);
    CHECK(read_text_file(file) == whole);
}

TEST_CASE("rows that are there before --resume are not computed again") {
    ScratchFolder const folder("sweep_kept");
    std::string const file = folder.path("a.csv");
    std::string whole = written(question, file);
    whole.insert(whole.find('\n', whole.find("\n2,") + 1), "marked");  // at the end of its reason
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, whole.find("\n9,") + 1);
    RunResult const resumed = run_sextant(question + Arguments{"--output", file, "--resume"});
    CHECK_THAT(resumed.err, contains("has 9 of 48 rows"));
    CHECK(read_text_file(file) == whole);
}

TEST_CASE("a file is not touched unless told what to do with it, and not resumed as another sweep") {
    ScratchFolder const folder("sweep_refused");
    std::string const file = folder.path("a.csv");
    std::string const before = written(question, file);
    Arguments const into{"--output", file};
    check_refused(question + into, "--resume goes on with it, --overwrite begins anew");
    check_refused(question + Arguments{"--axis", "pp=1,2", "--resume"} + into, "is of another sweep");
    check_refused(question + Arguments{"--columns", "mfu", "--resume"} + into, "is of another sweep");
    check_refused(question + Arguments{"--seq", "512", "--resume"} + into, "is of another sweep");
    check_refused(question + Arguments{"--shard", "1/2", "--resume"} + into, "is of shard 1/1, not 1/2");
    check_refused(question + Arguments{"--format", "jsonl", "--resume"} + into, "has rows of csv, not jsonl");
    check_refused(question + Arguments{"--overwrite", "--resume"} + into, "choose one");
    CHECK(read_text_file(file) == before);
    std::filesystem::remove(file + ".sweep.json");
    check_refused(question + Arguments{"--resume"} + into, "nobody knows what sweep it is of");
    CHECK(read_text_file(file) == before);
}

TEST_CASE("a model file that changed is another sweep") {
    ScratchFolder const folder("sweep_model");
    std::string const model = folder.file("m.json", read_text_file(SEXTANT_SOURCE_DIR "/models/gpt2.json"));
    Arguments const sweep{"sweep", "flops", "--model", model, "--axis", "seq=128,256"};
    std::string const file = folder.path("a.csv");
    written(sweep, file);
    CHECK(run_sextant(sweep + Arguments{"--output", file, "--resume"}).code == 0);
    std::string text = read_text_file(model);
    text.replace(text.find("\"n_layer\": 12"), 13, "\"n_layer\": 13");
    write_text_file(model, text);
    check_refused(sweep + Arguments{"--output", file, "--resume"}, "is of another sweep");
}

TEST_CASE("a record that contradicts itself is refused, whatever is wrong with it") {
    ScratchFolder const folder("sweep_record");
    std::string const file = folder.path("a.csv");
    written(question, file);
    auto const [key, value] = GENERATE(table<char const*, char const*>({
        {"points", "-1"},
        {"points", "1e300"},
        {"points", "49"},
        {"shard", "0"},
        {"shard", "7"},
        {"shards", "0"},
        {"groups", "[]"},
        {"groups", R"([{"axes": [0, 1, 2]}])"},
        {"groups", R"([{"axes": [0]}, {"axes": [0]}, {"axes": [-5]}])"},
        {"axes", "[]"},
        {"axes", R"([{"name": "gpus", "values": []}])"},
        {"rows", "\"xml\""},
        {"columns", "3"},
        {"version", "2"},
        {"unknown", "1"},
    }));
    CAPTURE(key, value);
    change_record(file, key, Json::parse(value));
    RunResult const result = run_sextant({"merge", folder.path("out.csv"), file});
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains("sextant: error: "));
    CHECK_FALSE(std::filesystem::exists(folder.path("out.csv")));
}

TEST_CASE("shards together are the whole, in every format and any number") {
    ScratchFolder const folder("sweep_shards");
    std::string const whole = written(question, folder.path("whole.csv"));
    auto const shards = GENERATE(1, 3, 7, 48);
    auto const format = GENERATE(std::string("csv"), std::string("jsonl"));
    Arguments files;
    for (int i = shards; i >= 1; --i) {
        files.push_back(folder.path(std::to_string(i) + "." + format));
        RunResult const part = run_sextant(question + Arguments{"--threads", "1", "--shard",
                                                                std::to_string(i) + "/" + std::to_string(shards),
                                                                "--output", files.back()});
        REQUIRE(part.code <= 1);  // a shard may have failed points only
    }
    RunResult const merged = run_sextant(Arguments{"merge", folder.path("out.csv")} + files);
    INFO(merged.err);
    CHECK(merged.code == 0);
    CHECK(read_text_file(folder.path("out.csv")) == whole);
    // What was merged is a sweep's file again.
    CHECK(written(question + Arguments{"--resume"}, folder.path("out.csv")) == whole);
}

TEST_CASE("the record of a file carries the prices that its dollars stand on; one without them is read") {
    ScratchFolder const folder("sweep_prices");
    std::string const file = folder.path("rows.csv");
    written(question, file);
    auto const assumptions = [&] {
        std::string const merged = folder.path("merged.json");
        REQUIRE(run_sextant({"merge", "--overwrite", merged, file}).code == 0);
        return Json::parse(read_text_file(merged)).at("assumptions");
    };
    Json const lines = assumptions();
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines.front().get<std::string>(), contains("h100-sxm: price = $2.95"));
    Json record = Json::parse(read_text_file(file + ".sweep.json"));
    CHECK(record.at("prices") == lines);
    record.erase("prices");
    write_text_file(file + ".sweep.json", record.dump());
    CHECK(assumptions().empty());
}

TEST_CASE("merging says what is missing, unfinished, there twice or of another sweep") {
    ScratchFolder const folder("sweep_merge");
    auto const shard = [&](Arguments const& sweep, std::string const& which, std::string const& name) {
        std::string const file = folder.path(name);
        written(sweep + Arguments{"--shard", which}, file);
        return file;
    };
    std::string const one = shard(question, "1/3", "1.csv");
    std::string const two = shard(question, "2/3", "2.csv");
    std::string const three = shard(question, "3/3", "3.csv");
    std::string const again = shard(question, "2/3", "2b.csv");
    std::string const half = shard(question, "1/2", "half.csv");
    std::string const other = shard(question + Arguments{"--seq", "512"}, "2/3", "other.csv");
    std::string const lines = shard(question, "2/3", "2.jsonl");
    std::string const out = folder.path("out.csv");
    check_refused({"merge", out, one, three}, "1 of 3 shards is missing (2/3)");
    check_refused({"merge", out, one, two, again, three}, "is shard 2/3, as ");
    check_refused({"merge", out, one, other, three}, "is of another sweep");
    check_refused({"merge", out, one, half}, "is one of 2 shards");
    check_refused({"merge", out, one, lines, three}, "has rows of jsonl");
    check_refused({"merge", out, one, two, three, "--sensitivity", "mfuu"}, "did you mean 'mfu'");
    check_refused({"merge", other, one, two, three}, "exists");
    check_refused({"merge", one, one, two, three, "--overwrite"}, "OUT: ", "is given to IN as well");
    check_refused({"merge", out, folder.path("none.csv")}, "none.csv: there is no such file");
    std::filesystem::resize_file(two, static_cast<std::uintmax_t>(size_of(two) - 3));
    check_refused({"merge", out, one, two, three}, "has 15 of 16 rows (finish it with --resume)");
    CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("a merged sweep says the same of sensitivity as one that ran through") {
    ScratchFolder const folder("sweep_sensitivity");
    Arguments const sweep = question + Arguments{"--sensitivity", "iteration_time_s"};
    std::string const file = folder.path("a.csv");
    RunResult const ran = run_sextant(sweep + Arguments{"--output", file});
    RunResult const merged = run_sextant({"merge", folder.path("b.csv"), file, "--sensitivity", "iteration_time_s"});
    CHECK_THAT(ran.out, contains("elasticity"));
    CHECK(merged.out == ran.out);
    std::string const whole = read_text_file(file);
    std::filesystem::resize_file(file, whole.size() / 2);
    CHECK(run_sextant(sweep + Arguments{"--output", file, "--resume"}).out == ran.out);
    CHECK(read_text_file(file) == whole);
}

TEST_CASE("two ranks of mpirun write the file that one process writes") {
    std::string output;
#ifdef SEXTANT_HAS_MPI
    std::string program;
    std::string const path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
    for (std::size_t begin = 0; begin < path.size() && program.empty();) {
        std::size_t const end = std::min(path.find(':', begin), path.size());
        std::string const candidate = path.substr(begin, end - begin) + "/mpirun";
        if (access(candidate.c_str(), X_OK) == 0) program = candidate;
        begin = end + 1;
    }
    if (program.empty()) {
        WARN("no mpirun here (openmpi-bin): not tested");
        return;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 0);  // Open MPI keeps what it once allocated
    ScratchFolder const folder("sweep_mpi");
    std::string const whole = written(long_question, folder.path("whole.csv"));
    std::string const file = folder.path("ranks.csv");
    Arguments const launch{"--oversubscribe", "-n", "2", SEXTANT_PROGRAM};
    CHECK(cli::child_output(program, launch + long_question + Arguments{"--output", file}, output).code == 0);
    CHECK(read_text_file(file) == whole);
    std::filesystem::resize_file(file, whole.size() / 3);
    CHECK(cli::child_output(program, launch + long_question + Arguments{"--output", file, "--resume"}, output).code ==
          0);
    CHECK(read_text_file(file) == whole);
#else
    CHECK(cli::child_output(SEXTANT_PROGRAM, long_question + Arguments{"--mpi"}, output).code == 3);
#endif
}
