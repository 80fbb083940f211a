#include "kernels/program.hpp"

int main(int count, char** arguments) { return sextant::bench::run_program({arguments + 1, arguments + count}); }
