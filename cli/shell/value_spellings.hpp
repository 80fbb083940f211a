#pragma once

namespace CLI {
class App;
}

namespace sextant::cli {

/// Values as people write them, in all options of a command: of a SHARE "90%" is 0.9, of TOKENS "8Ki" is 8192, and
/// names are those of other programs too (`own_word`).
void accept_spellings(CLI::App& app);

}  // namespace sextant::cli
