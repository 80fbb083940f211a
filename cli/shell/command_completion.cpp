#include "cli/command.hpp"
#include "cli/shell/completion.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <CLI/App.hpp>

#include <array>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

struct Shell {
    char const* name;
    std::string (*script)(std::span<CommandDescription const>);
};

constexpr std::array shells{Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                            Shell{"fish", fish_completion}};

int completion(std::string const& name, CommandContext& context) {
    std::vector<std::string> known;
    for (Shell const& shell : shells) {
        if (name == shell.name) {
            context.out << shell.script(describe_commands());
            return exit_code::done;
        }
        known.emplace_back(shell.name);
    }
    throw InputError("completion: unknown shell '{}'{} (known: {})", name, did_you_mean(name, known), join(known));
}

Action describe(CLI::App& app, CommandContext& context) {
    auto shell = std::make_shared<std::string>();
    app.add_option("shell", *shell, "bash, zsh or fish")->required()->option_text("bash|zsh|fish");
    app.footer(
        "The script knows every command, option, model and cluster, and calls nothing. For good:\n"
        "  bash: sextant completion bash > ~/.local/share/bash-completion/completions/sextant\n"
        "  zsh:  sextant completion zsh > \"${fpath[1]}/_sextant\"\n"
        "  fish: sextant completion fish > ~/.config/fish/completions/sextant.fish\n\nExamples:\n"
        "  sextant completion bash\n"
        "  sextant completion fish\n");
    return [shell, &context] { return completion(*shell, context); };
}

}  // namespace

extern constinit CommandEntry const completion_command;
constinit CommandEntry const completion_command{
    .name = "completion",
    .summary = "a script that completes commands, options and names in bash, zsh or fish",
    .describe = describe,
};

}  // namespace sextant::cli
