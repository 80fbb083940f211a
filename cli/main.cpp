#include "cli/run.hpp"
#include "cli/shell/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <iostream>

namespace {

/// Where a standard stream was closed (`>&-`) the next file opened would take its number, and the report would end in
/// it. What stands in for standard output refuses to be written, so that a lost report is an error.
void open_standard_streams() {
    for (int const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(stream, F_GETFD) < 0)
            static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_streams();
    std::ios::sync_with_stdio(false);
    sextant::cli::set_terminal(std::cout, sextant::cli::terminal_behind(STDOUT_FILENO));
    sextant::cli::set_terminal(std::cerr, sextant::cli::terminal_behind(STDERR_FILENO));
    return sextant::cli::run(argc, argv, std::cout, std::cerr);
}
