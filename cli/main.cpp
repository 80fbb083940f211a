#include "cli/run.hpp"
#include "cli/shell/terminal.hpp"

#include <unistd.h>

#include <iostream>

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    sextant::cli::set_terminal(std::cout, sextant::cli::terminal_behind(STDOUT_FILENO));
    sextant::cli::set_terminal(std::cerr, sextant::cli::terminal_behind(STDERR_FILENO));
    return sextant::cli::run(argc, argv, std::cout, std::cerr);
}
