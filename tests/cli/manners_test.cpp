// What every command has: examples that parse, completion, a manual page, options from a file.
#include "cli/shell/completion.hpp"
#include "cli/shell/described_command.hpp"
#include "cli/shell/man_page.hpp"
#include "core/error.hpp"
#include "planner/exporters/quoting.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

using namespace sextant::cli;

namespace {

std::vector<CommandDescription> const& commands() {
    static std::vector<CommandDescription> const all = describe_commands();
    return all;
}

/// Words of a line as a shell splits it: quotes keep words together, a comment ends it.
std::vector<std::string> words_of(std::string const& line) {
    std::vector<std::string> words;
    std::string word;
    char quote = '\0';
    bool inside = false;
    for (char const c : line) {
        if (quote != '\0') {
            if (c == quote)
                quote = '\0';
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            inside = true;
        } else if (c == ' ' || c == '#') {
            if (inside) words.push_back(word);
            word.clear();
            inside = false;
            if (c == '#') break;
        } else {
            word += c;
            inside = true;
        }
    }
    if (inside) words.push_back(word);
    return words;
}

/// "" if the command line parses, else what is wrong with it.
std::string parse_error(std::vector<std::string> words) {
    std::ostringstream nowhere;
    CommandContext context{nowhere, nowhere};
    for (auto const* entry : command_catalog()) {
        if (words.size() < 2 || words[1] != entry->name) continue;
        DescribedCommand command = describe_command(*entry, context);
        words.erase(words.begin(), words.begin() + 2);
        try {
            parse_arguments(*entry, command, words);
        } catch (std::exception const& error) {
            return error.what();
        }
        return "";
    }
    return "no such command";
}

CommandDescription const& find(std::string const& path) {
    for (auto const* command : flattened(commands()))
        if (command->path == path) return *command;
    throw sextant::InputError("{}: no such command", path);
}

OptionDescription const& find(std::string const& path, std::string const& name) {
    for (auto const& option : find(path).options)
        if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return option;
    throw sextant::InputError("{}: no {}", path, name);
}

}  // namespace

TEST_CASE("every command and subcommand has two examples of its own, and each parses") {
    for (auto const* command : flattened(commands())) {
        INFO(command->path);
        CHECK(command->examples.size() >= 2);
        std::size_t own = 0;
        for (std::string const& example : command->examples) {
            INFO(example);
            std::string const line = example.substr(example.find("sextant "));
            auto words = words_of(line.substr(0, line.find(" | ")));
            for (char const* const redirection : {">", "<", "&&", ";", "2>"})
                words.erase(std::find(words.begin(), words.end(), redirection), words.end());
            CHECK(parse_error(words) == "");
            own += line.starts_with("sextant " + command->path) ? 1U : 0U;
        }
        CHECK(own >= 2);
    }
}

TEST_CASE("examples that need no file and are quick run") {
    std::set<std::string> const quick{"estimate",          "memory",          "flops",           "models",
                                      "hardware",          "models show",     "hardware show",   "scaling laws",
                                      "scaling laws list", "scaling predict", "trials schedule", "trials transfer",
                                      "trials budget",     "collective",      "serve estimate",  "completion"};
    std::size_t run = 0;
    for (auto const* command : flattened(commands())) {
        if (!quick.contains(command->path)) continue;
        for (std::string const& example : command->examples) {
            bool const file = example.find(".json") != std::string::npos || example.find(".csv") != std::string::npos ||
                              example.find(".sh ") != std::string::npos ||
                              example.find("--output ") != std::string::npos;
            bool const tree =
                example.find(" --degrade-link") != std::string::npos;  // simulated: slow in a checked build
            auto words = words_of(example);
            if (file || tree || words[0] != "sextant") continue;
            INFO(example);
            words.erase(words.begin());
            auto const result = run_sextant(words);
            CHECK(result.code <= 1);
            CHECK(result.err == "");
            CHECK(!result.out.empty());
            ++run;
        }
    }
    CHECK(run > 20);
}

TEST_CASE("the commands that sextant alone shows parse") {
    auto const result = run_sextant({});
    CHECK(result.code == 0);
    std::istringstream in(result.out);
    std::size_t shown = 0;
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("  sextant ") || line.find("--help") != std::string::npos) continue;
        auto words = words_of(line.substr(0, line.find("   ")));
        INFO(line);
        CHECK(parse_error(words) == "");
        ++shown;
    }
    CHECK(shown >= 6);
}

TEST_CASE("listed_values finds names in lists, and nothing in sentences") {
    CHECK(listed_values("gpipe, 1f1b or zb-h1 (default: 1f1b)") == std::vector<std::string>{"gpipe", "1f1b", "zb-h1"});
    CHECK(listed_values("whose constants: megatron, fsdp, or a file") == std::vector<std::string>{"megatron", "fsdp"});
    CHECK(listed_values("format of the report: text, json (default: text)") ==
          std::vector<std::string>{"text", "json"});
    CHECK(listed_values("the law:\n  one - L = 1\n  two - L = 2") == std::vector<std::string>{"one", "two"});
    CHECK(listed_values("write the report to this file").empty());
    CHECK(listed_values("US dollars per hour, indicative").empty());
    CHECK(listed_values("").empty());
}

TEST_CASE("what completion offers for a listed option is accepted by it") {
    CHECK(find("plan", "--schedule").values.size() == 10);
    CHECK(find("plan", "--framework").values.size() == 9);
    CHECK(find("simulate", "--network").values == std::vector<std::string>{"fair", "ideal"});
    CHECK(find("scaling fit", "--law").values.size() > 5);
    CHECK(find("serve estimate", "--model").values.size() > 20);
    std::set<std::string> const tried{"--schedule",  "--recompute", "--offload",        "--cp-mode", "--precision",
                                      "--optimizer", "--framework", "--moe-dispatcher", "--format"};
    for (auto const& option : find("memory").options) {
        if (option.names.empty() || !tried.contains(option.names.back())) continue;
        REQUIRE(!option.values.empty());
        for (auto const& value : option.values) {
            INFO(option.names.back() << " " << value);
            auto const result =
                run_sextant({"memory", "-m", "llama-2-7b", "-c", "h100-sxm", "--dp", "2", option.names.back(), value});
            CHECK_THAT(result.err, !contains(option.names.back() + ": unknown"));
            CHECK_THAT(result.err, !contains("did you mean"));
        }
    }
}

TEST_CASE("completion scripts name every command, option and value, and quote what they say") {
    std::string const bash = bash_completion(commands());
    std::string const zsh = zsh_completion(commands());
    std::string const fish = fish_completion(commands());
    for (auto const* command : flattened(commands())) {
        INFO(command->path);
        CHECK_THAT(bash, contains("        " + sextant::shell_quoted(command->path) + ")"));
        std::string name = "_sextant_" + command->path;
        std::replace_if(
            name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
        CHECK_THAT(zsh, contains(name + "()"));
        for (auto const& option : command->options)
            for (auto const& each : option.names) {
                CHECK_THAT(bash, contains(each));
                CHECK_THAT(fish, contains(each.starts_with("--") ? " -l " + each.substr(2) : " -s " + each.substr(1)));
            }
    }
    CHECK_THAT(bash, contains("zb-v"));
    CHECK_THAT(zsh, contains("deepseek-v3"));
    CHECK_THAT(fish, contains("gb200-nvl72"));
    // Where a subcommand stands, no file does.
    CHECK_THAT(bash, contains("_sextant_words 'fit optimum predict laws' ;;"));
    CHECK_THAT(run_sextant({"completion", "bahs"}).err, contains("did you mean 'bash'"));
    CHECK(run_sextant({"completion"}).code == 2);
}

TEST_CASE("the manual page has every command and option, and no line of text begins as a macro") {
    auto const result = run_sextant({"man"});
    CHECK(result.code == 0);
    for (auto const* command : flattened(commands())) {
        INFO(command->path);
        std::string heading = command->path;
        if (heading.find(' ') == std::string::npos)
            std::transform(heading.begin(), heading.end(), heading.begin(),
                           [](char c) { return static_cast<char>(std::toupper(c)); });
        for (std::size_t at = heading.find('-'); at != std::string::npos; at = heading.find('-', at + 2))
            heading.insert(at, "\\");
        CHECK_THAT(result.out, contains(heading));
    }
    CHECK_THAT(result.out, contains("\\fB\\-\\-global\\-batch\\fR"));
    std::set<std::string> const macros{".\\\"", ".TH", ".ad", ".nh", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"};
    std::istringstream in(result.out);
    for (std::string line; std::getline(in, line);) {
        CHECK(line.find('\'') != 0);
        if (line.starts_with('.')) CHECK(macros.contains(line.substr(0, line.find(' '))));
    }
}

TEST_CASE("--config fills in options, and the command line wins") {
    ScratchFolder const folder("manners");
    std::string const file = folder.path("plan.toml");
    std::ofstream(file)
        << "model = \"llama-2-7b\"\ncluster = 'h100-sxm'\n[memory]\ndp = 4\ndropout = true\nflash-attention = false\n"
           "stage-layers = [16, 16]\npp = 2\n[plan]\ntop = 3\n";
    auto const from_file = run_sextant({"memory", "--config", file});
    auto const from_line = run_sextant({"memory", "-m", "llama-2-7b", "-c", "h100-sxm", "--dp", "4", "--dropout",
                                        "--no-flash-attention", "--stage-layers", "16,16", "--pp", "2"});
    CHECK(from_file.code <= 1);  // whether it fits is not the question
    CHECK(from_file.err == "");
    CHECK(from_file.out == from_line.out);
    auto const changed = run_sextant({"memory", "--config=" + file, "--dp=8"});
    CHECK(changed.code <= 1);
    CHECK(changed.out != from_file.out);
}

TEST_CASE("--config: true and false are words where the option has them, and no is no") {
    ScratchFolder const folder("config_words");
    auto const with = [&](std::vector<std::string> const& more) {
        std::vector<std::string> words{"estimate", "-m",   "llama-2-7b", "-c",       "h100-sxm", "-n",
                                       "8",        "--tp", "8",          "--format", "json"};
        words.insert(words.end(), more.begin(), more.end());
        RunResult const result = run_sextant(words);
        CHECK(result.err == "");
        return result.out;
    };
    auto const with_file = [&](std::string const& text) { return with({"--config", folder.file("x.toml", text)}); };
    CHECK(with_file("recompute = true\n") == with({"--recompute", "full"}));
    CHECK(with_file("recompute = false\n") == with({}));
    CHECK(with_file("sequence-parallel = false\n") == with({"--no-sequence-parallel"}));
    CHECK(with({}) != with({"--no-sequence-parallel"}));
}

TEST_CASE("--attention names the kernel, and its flags are short for two of them") {
    auto const of = [](std::vector<std::string> const& more) {
        std::vector<std::string> arguments{"estimate", "-m", "llama-2-7b", "-c",  "h100-sxm",
                                           "--dp",     "8",  "--seq",      "4096"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_sextant(arguments);
    };
    CHECK(of({"--attention", "unfused"}).out == of({"--no-flash-attention"}).out);
    CHECK(of({"--attention", "flash"}).out == of({}).out);
    CHECK(of({"--attention", "eager"}).out != of({"--attention", "unfused"}).out);
    auto const unknown = of({"--attention", "eagre"});
    CHECK(unknown.code == 2);
    CHECK(unknown.err.find("'eagre'; did you mean 'eager'?") != std::string::npos);
    auto const both = of({"--attention", "eager", "--flash-attention"});
    CHECK(both.code == 2);
    CHECK(both.err.find("leave one of them out") != std::string::npos);
}

TEST_CASE("--config refuses what it would otherwise ignore") {
    ScratchFolder const folder("manners");
    std::string const file = folder.path("x.toml");
    auto const message = [&](std::string const& text) {
        std::ofstream(file) << text;
        auto const result = run_sextant({"memory", "-m", "llama-2-7b", "-c", "h100-sxm", "--config", file});
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        return result.err;
    };
    CHECK_THAT(message("\ngpu = 8\n"),
               contains("x.toml:2: gpu: no such option of 'sextant memory'; did you mean 'gpus'?"));
    CHECK_THAT(message("[memry]\ngpus = 8\n"), contains("[memry]: no such command; did you mean 'memory'?"));
    CHECK_THAT(message("[memory.x]\ngpus = 8\n"), contains("'x' is no subcommand of 'memory'"));
    CHECK_THAT(message("dropout = 1\n"), contains("is a flag"));
    CHECK_THAT(message("gpus = true\n"), contains("takes a value"));
    CHECK_THAT(message("recompute-layers = true\n"), contains("takes a value"));
    CHECK_THAT(message("tp = []\n"), contains("x.toml:1: tp is an empty list"));
    CHECK_THAT(message("\ngpus = eight\n"), contains("x.toml:2: "));
    CHECK_THAT(message("gpus = \"eight\"\n"), contains("--gpus"));
    CHECK_THAT(message("config = \"y.toml\"\n"), contains("no such option"));
    CHECK(run_sextant({"memory", "--config", folder.path("none.toml")}).code == 2);
    CHECK(run_sextant({"memory", "--config", file, "--config", file}).code == 2);
    CHECK(run_sextant({"memory", "--config", ""}).code == 2);
}

TEST_CASE("an error shows no control character of what it quotes") {
    auto const result = run_sextant({"memory", "-m", "\x1b]0;title\x07", "-c", "h100-sxm"});
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains("'\\x1b]0;title\\x07'"));
    CHECK(std::count_if(result.err.begin(), result.err.end(), [](char c) { return c == '\x1b' || c == '\x07'; }) == 0);
}

TEST_CASE("the help of a subcommand shows the whole command line") {
    CHECK_THAT(run_sextant({"serve", "plan", "--help"}).out, contains("Usage: sextant serve plan [OPTIONS]"));
    CHECK_THAT(run_sextant({"export", "serve", "--help"}).out, contains("Usage: sextant export serve [OPTIONS]"));
    CHECK_THAT(run_sextant({"plan", "--help"}).out, contains("Usage: sextant plan [OPTIONS]"));
}

TEST_CASE("a file of --write-config is read back as the same question") {
    ScratchFolder const folder("manners");
    std::string const file = folder.path("q.toml");
    std::vector<std::string> question{"serve",    "estimate", "-m",  "llama-3.1-8b", "-c",
                                      "h100-sxm", "--rate",   "1,2", "--weights",    "fp8"};
    auto const answer = run_sextant(question);
    REQUIRE(answer.code == 0);
    question.insert(question.end(), {"--write-config", file});
    auto const written = run_sextant(question);
    CHECK(written.code == 0);
    CHECK(written.out == "");
    auto const again = run_sextant({"serve", "estimate", "--config", file});
    CHECK(again.out == answer.out);
    auto const empty = run_sextant({"plan", "--write-config", "-"});
    CHECK(empty.code == 0);
    CHECK_THAT(empty.out, contains("[plan]"));
    CHECK_THAT(empty.out, contains("# model = \"\""));
}

TEST_CASE("doctor says what is there, and exits 3 only for what is required and missing") {
    auto const text = run_sextant({"doctor"});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("simgrid"));
    CHECK_THAT(text.out, contains("model presets"));
    auto const json = run_sextant({"doctor", "--format", "json"});
    CHECK_THAT(json.out, contains("\"format\": \"doctor\""));
    CHECK(run_sextant({"doctor", "--require", "simgrid,ceres,models"}).code == 0);
    auto const unknown = run_sextant({"doctor", "--require", "simgird"});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains("did you mean 'simgrid'"));
    bool const cuda = json.out.find("\"found\": \"built\"") != std::string::npos;
    auto const required = run_sextant({"doctor", "--require", "cuda"});
    CHECK(required.code == (cuda ? 0 : 3));
    if (!cuda) CHECK_THAT(required.err, contains("cuda is missing"));
}
