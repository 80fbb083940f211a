#include "cli/progress.hpp"

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/run.hpp"
#include "tests/catch.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <csignal>
#include <filesystem>
#include <sstream>

using namespace sextant::cli;

namespace {

/// What a host hears of a command.
struct Host {
    std::ostringstream out{};
    std::ostringstream err{};
    std::atomic<bool> stop{false};
    std::vector<std::string> heard{};
    CommandContext context{out, err, &stop, [this](std::string const& text) { heard.push_back(text); }};
};

}  // namespace

TEST_CASE("a host that listens hears of progress, and errors stay clean of it") {
    Host host;
    ProgressLine line(host.context, Progress::on_terminals);
    line.show("one");
    begin_step(host.context, "two");
    progress_lines(host.context, Progress::on_terminals)("three");
    line.clear();
    CHECK(host.heard == std::vector<std::string>{"one", "two", "three"});
    CHECK(host.err.str().empty());
}

TEST_CASE("a host that does not listen is not shown progress that was asked for") {
    Host host;
    host.context.progress = nullptr;
    ProgressLine line(host.context, Progress::always);
    CHECK_FALSE(line.shown());
    line.show("one");
    begin_step(host.context, "two");
    CHECK_FALSE(progress_lines(host.context, Progress::always));
    CHECK(host.err.str().empty());
}

TEST_CASE("without a host progress goes to errors when it is asked for, and the line is taken away in the end") {
    std::ostringstream out;
    std::ostringstream err;
    CommandContext context{out, err};
    {
        ProgressLine line(context, Progress::always);
        line.show("1 of 2");
    }
    CHECK(err.str() == "\r1 of 2 \r       \r");
    err.str("");
    CHECK_FALSE(ProgressLine(context, Progress::on_terminals).shown());
    begin_step(context, "fitting");
    CHECK(err.str() == "fitting\n");
}

TEST_CASE("a step is not begun when the host has asked for an end") {
    Host host;
    host.stop = true;
    CHECK_THROWS_AS(begin_step(host.context, "fitting"), Interrupted);
    CHECK(host.heard.empty());
}

TEST_CASE("a host hears how far a long trace is read, and can end that") {
    ScratchFolder const folder("trace_progress");
    std::string const trace =
        folder.file("trace.json", "{\"padding\": \"" + std::string(9 << 20, 'x') + "\", \"traceEvents\": []}");
    std::vector<std::string> const import{"calibrate", "import", trace, "--out=" + folder.path("tables")};
    Host host;
    CHECK(run_arguments(import, host.context).exit_code == 2);  // it has no rows
    REQUIRE_FALSE(host.heard.empty());
    CHECK(host.heard.front() == "reading " + trace + ": 4 of 9 MiB");
    host.stop = true;
    CHECK(run_arguments(import, host.context).exit_code == interrupted_exit);
}

TEST_CASE("a command that cannot end early ends at its next step when its host asks, as interrupted") {
    Host host;
    host.stop = true;
    std::string const rows = SEXTANT_SOURCE_DIR "/tests/data/gemm_excerpt.csv";
    auto const file = std::filesystem::temp_directory_path() / "sextant_not_fitted.json";
    Ending const ending = run_arguments(
        {"calibrate", "fit", "--kernels=" + rows, "--device=a100-sxm-80gb", "--out=" + file.string()}, host.context);
    CHECK(ending.exit_code == interrupted_exit);
    CHECK(ending.error.empty());
    CHECK(host.out.str().empty());
    CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("collective: an interrupt leaves out the algorithms to come") {
    std::vector<std::string> const question{"collective", "--cluster=h100-sxm", "--gpus=16", "--format=json"};
    Host whole;
    CHECK(run_arguments(question, whole.context).exit_code == exit_code::done);
    Host stopped;
    stopped.stop = true;
    CHECK(run_arguments(question, stopped.context).exit_code == interrupted_exit);
    CHECK(stopped.out.str().size() < whole.out.str().size() / 2);
    CHECK_THAT(stopped.err.str(), Catch::StartsWith("interrupted: "));
}

TEST_CASE("signals are the host's business where it has its own way to end a command") {
    auto const before = std::signal(SIGINT, SIG_IGN);
    {
        Host host;
        InterruptGuard const guard(host.context);
        CHECK_FALSE(guard.flag());
        host.stop = true;
        CHECK(guard.flag());
        CHECK(std::signal(SIGINT, SIG_IGN) == SIG_IGN);
    }
    CHECK(std::signal(SIGINT, before) == SIG_IGN);
}

TEST_CASE("errors come to a host as sentences, beside what is written") {
    Host host;
    Ending const ending = run_arguments({"estimate", "--model=llama-3.1-9b", "--cluster=h100-sxm"}, host.context);
    CHECK(ending.exit_code == exit_code::bad_input);
    CHECK_THAT(ending.error, Catch::Matchers::StartsWith("model 'llama-3.1-9b': unknown"));
    CHECK(host.err.str().empty());
}
