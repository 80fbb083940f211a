#include "cli/run.hpp"

#include <iostream>

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    return sextant::cli::run(argc, argv, std::cout, std::cerr);
}
