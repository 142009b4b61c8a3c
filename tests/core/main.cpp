// main.cpp: runs all core tests, or those whose name contains the first argument.
#include "test.h"

int main(int argc, char** argv) { return test::run_all(argc > 1 ? argv[1] : ""); }
