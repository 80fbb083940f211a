#include "cli/run.hpp"

int main(int argc, char** argv) { return sextant::cli::run_program(argc, argv); }
