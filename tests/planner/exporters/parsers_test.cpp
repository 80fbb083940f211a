#include "core/json/text_file.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/job_files.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/exporters/serve_command.hpp"
#include "tests/catch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

using namespace sextant;
namespace fs = std::filesystem;

namespace {

/// A harmless one first; then names and paths as an attacker, or a careless user, would choose them.
std::vector<std::string> const& hostile_texts() {
    static std::vector<std::string> const texts{
        "plain",
        "it's \"quoted\"",
        "$(touch PWNED)",
        "`touch PWNED`",
        "a\ntouch PWNED\n#",
        "a'\ntouch PWNED\n'",
        "x: y # z",
        "- item\n- {a: b}",
        "--tensor-model-parallel-size 3",
        "-rf /",
        "é \xF0\x9F\x98\x80 \xE2\x80\xA8",
        "\"\"\"\nimport os\nos.mknod('PWNED')\n\"\"\"",
        "]]>\n[table]\nkey = 1",
        "a\\",
        "${HOME}${IFS}&& touch PWNED;",
        "coding: utf-7 +ACI-",
        "\t\x01\x7f%s%n",
    };
    return texts;
}

class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("sextant_export_" + std::to_string(::getpid()))) {
        fs::remove_all(path_);
        fs::create_directory(path_);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    [[nodiscard]] fs::path const& path() const { return path_; }

private:
    fs::path path_;
};

int run(std::string const& command) {
    int const status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void write_all(fs::path const& folder, std::vector<ExportedFile> const& files) {
    fs::create_directories(folder);
    for (ExportedFile const& file : files)
        write_text_file((folder / file.name).string(), file.text);
}

LaunchPlan hostile_launch(std::string const& text, char const* model_name, ParallelPlan const& plan) {
    ModelSpec model = find_model(model_name);
    model.name = text;
    LaunchSettings settings;
    settings.data = settings.tokenizer = settings.checkpoints = settings.image = text;
    LaunchPlan launch = make_launch_plan(std::move(model), find_cluster("h100-roce", "--cluster"),
                                         {.sequence = 1024, .global_batch = 64}, plan, settings);
    launch.summary = text;
    launch.checkpoint = {.interval = {}, .steps = 7, .basis = text};
    return launch;
}

/// Every format for every text, in a folder of its own each with the text beside it.
void write_everything(fs::path const& root) {
    int number = 0;
    for (std::string const& text : hostile_texts()) {
        ParallelPlan plan;
        plan.dp = 8;
        plan.pp = 2;
        plan.tp = 2;
        plan.sequence_parallel = Switch::on;
        plan.schedule = number % 2 == 0 ? Schedule::zb_h1 : Schedule::gpipe;
        LaunchPlan const launch = hostile_launch(text, number % 3 == 0 ? "mixtral-8x7b" : "llama-3.2-1b", plan);
        fs::path const folder = root / std::to_string(number++);
        write_all(folder, {{"expected.txt", text}});
        for (ExporterEntry const* entry : exporter_catalog()) {
            Export const exported = entry->write(launch);
            write_all(folder, exported.files);
            ExportedFile slurm = slurm_job(launch, exported);
            ExportedFile job = kubernetes_job(launch, exported);
            slurm.name = std::string(entry->name) + "-" + slurm.name;
            job.name = std::string(entry->name) + "-" + job.name;
            write_all(folder, {slurm, job});
        }
        for (ServeExporterEntry const* entry : serve_exporter_catalog()) {
            ServeLaunch serve;
            serve.model = launch.model;
            serve.cluster = launch.cluster;
            serve.plan.tp = 16;
            serve.model_path = text;
            write_all(folder, entry->write(serve).files);
        }
    }
}

}  // namespace

TEST_CASE("every exported file parses by its format's own rules, and hostile texts stay texts", "[export][INV-70]") {
    Folder const folder;
    write_everything(folder.path());
    std::string const here = shell_quoted(folder.path().string());
    std::string const quiet = " >" + here + "/log 2>&1";
    auto const log = [&] { return read_text_file((folder.path() / "log").string()); };

    CHECK(run("cd " + here + " && for f in */*.sh */*.sbatch; do bash -n \"$f\" || exit 1; done" + quiet) == 0);
    INFO(log());
    if (run("command -v shellcheck >/dev/null 2>&1") == 0)
        CHECK(run("cd " + here + " && shellcheck 0/*.sh 0/*.sbatch && shellcheck --severity=warning */*.sh */*.sbatch" +
                  quiet) == 0);
    else
        WARN("shellcheck is not installed: the scripts are not linted");
    INFO(log());

    std::string const own = std::string(SEXTANT_SOURCE_DIR) + "/build/python/bin/python";
    std::string const python = fs::exists(own) ? shell_quoted(own) : "python3";
    std::string const script =
        shell_quoted(std::string(SEXTANT_SOURCE_DIR) + "/tests/planner/exporters/parse_files.py");
    int const parsed = run(python + " " + script + " " + here + quiet);
    INFO(log());
    if (parsed == 77 || parsed == 127)
        WARN("Python with PyYAML and tomllib is not there: YAML, TOML and Python files are not parsed");
    else
        CHECK(parsed == 0);
    CHECK(run("test -z \"$(find " + here + " -name PWNED)\"") == 0);
}
