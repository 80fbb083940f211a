#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/harness/row_file.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

namespace fs = std::filesystem;

struct Folder {
    fs::path const path = fs::temp_directory_path() / ("sextant_bench_mpi_" + std::to_string(getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    std::string file(char const* name) const { return (path / name).string(); }
};

/// The exit code of so many processes; -1 where they had to be killed. What they print is thrown away.
int run_processes(int processes, std::string const& arguments) {
    std::string const command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
        "timeout -k 5 120 mpirun --oversubscribe -n " +
        std::to_string(processes) + " " SEXTANT_SEVERAL_PROCESSES " --backend cuda --bench nccl " + arguments +
        " >/dev/null 2>&1";
    int const status = std::system(command.c_str());
    int const code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code == 124 || code == 137 ? -1 : code;
}

bool has_mpirun() {
    if (std::system("command -v mpirun >/dev/null") == 0) return true;
    WARN("no mpirun here (openmpi-bin): not tested");
    return false;
}

}  // namespace

TEST_CASE("mpi_world: processes measure what the first one lists, as long as it wants, and the slowest counts") {
    if (!has_mpirun()) return;
    Folder const folder;
    std::string const out = folder.file("rows.csv");
    int const processes = GENERATE(1, 3);
    CAPTURE(processes);
    REQUIRE(run_processes(processes, "--out " + out) == 0);
    std::vector<Row> const rows = read_row_file(out, FileFormat::csv);
    REQUIRE(rows.size() == 3);  // not four or five, as the others have memory for
    for (Row const& row : rows) {
        CHECK(row.device == "of rank 0");
        CHECK(row.note == "of the first of " + std::to_string(processes));
        CHECK(row.shape.nodes == 1);  // all run on this machine
        CHECK(row.repeats == 4);
        CHECK(row.median_us == 1e6 * processes);
    }
}

TEST_CASE(
    "mpi_world: a file of rows is gone on with as the first process knows it, and refused by all without hanging") {
    if (!has_mpirun()) return;
    Folder const folder;
    std::string const out = folder.file("rows.csv");
    REQUIRE(run_processes(2, "--out " + out) == 0);
    std::vector<Row> const rows = read_row_file(out, FileFormat::csv);
    CHECK(run_processes(2, "--out " + out) == 2);
    CHECK(read_row_file(out, FileFormat::csv).size() == rows.size());
    std::ofstream(out) << csv_header() << "\n" << csv_line(rows[1]) << "\n";
    CHECK(run_processes(2, "--resume --out " + out) == 0);
    std::vector<Row> const resumed = read_row_file(out, FileFormat::csv);
    REQUIRE(resumed.size() == 3);
    CHECK(resumed[1].shape.bytes == rows[0].shape.bytes);
    CHECK(resumed[2].shape.bytes == rows[2].shape.bytes);
    Row other = rows[1];
    other.driver = "none, method 7";
    std::ofstream(out) << csv_header() << "\n" << csv_line(other) << "\n";
    CHECK(run_processes(2, "--resume --out " + out) == 2);  // measured in another way
}

TEST_CASE("mpi_world: a process that cannot take part ends all, with its exit code") {
    if (!has_mpirun()) return;
    Folder const folder;
    CHECK(run_processes(3, "--device 1 --out " + folder.file("rows.csv")) == 3);
    CHECK(run_processes(2, "--out " + folder.file("no/such/folder.csv")) == 2);
}

TEST_CASE(
    "mpi_world: a measurement that fails in one process, at set-up or later, ends all, keeps the rows before, and is "
    "taken last by the next run") {
    if (!has_mpirun()) return;
    Folder const folder;
    std::string const out = folder.file("rows.csv");
    char const* const device = GENERATE("2", "3");
    int const processes = GENERATE(2, 3);
    CAPTURE(device, processes);
    CHECK(run_processes(processes, std::string("--device ") + device + " --out " + out) == 1);
    std::vector<Row> const rows = read_row_file(out, FileFormat::csv);
    REQUIRE(rows.size() == 1);
    CHECK_FALSE(failed(rows[0]));
    // The next run takes last what this one did not end, and ends with it again.
    REQUIRE(fs::exists(out + ".begun"));
    CHECK(run_processes(processes, std::string("--resume --device ") + device + " --out " + out) == 1);
    std::vector<Row> const more = read_row_file(out, FileFormat::csv);
    REQUIRE(more.size() == 2);
    CHECK(more[1].shape.bytes == 3 << 10);
    CHECK(run_processes(processes, "--resume --out " + out) == 0);
    CHECK(read_row_file(out, FileFormat::csv).size() == 3);
    CHECK_FALSE(fs::exists(out + ".begun"));
}

TEST_CASE("mpi_world: a result that is no number in one process is a wrong one for all, and the run goes on") {
    if (!has_mpirun()) return;
    Folder const folder;
    std::string const out = folder.file("rows.csv");
    CHECK(run_processes(3, "--device 4 --out " + out) == 1);
    std::vector<Row> const rows = read_row_file(out, FileFormat::csv);
    REQUIRE(rows.size() == 3);
    CHECK_FALSE(failed(rows[0]));
    CHECK_THAT(rows[1].note, contains("wrong result"));
    CHECK_FALSE(failed(rows[2]));
}

}  // namespace sextant::bench
