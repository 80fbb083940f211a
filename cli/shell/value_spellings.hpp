#pragma once

namespace CLI {
class App;
}

namespace sextant::cli {

/// Numbers as people write them, in all options of a command whose help says so: of a SHARE "90%" is 0.9, of TOKENS
/// "8Ki" is 8192.
void accept_spellings(CLI::App& app);

}  // namespace sextant::cli
