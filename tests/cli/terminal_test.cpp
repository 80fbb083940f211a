#include "cli/shell/fit_text.hpp"

#include "cli/run.hpp"
#include "cli/view/table.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

using namespace sextant::cli;

namespace {

std::size_t longest_line(std::string const& text) {
    std::size_t longest = 0;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        longest =
            std::max<std::size_t>(longest, static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
                                      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                                  })));
    return longest;
}

std::vector<std::string> sorted_words(std::string const& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
        if (word.find_first_not_of('-') != std::string::npos) words.push_back(word);
    std::sort(words.begin(), words.end());
    return words;
}

std::string without_escapes(std::string text) {
    for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b', at))
        text.erase(at, text.find('m', at) + 1 - at);
    return text;
}

Table wide_table() {
    Table table({{"name"}, {"a long header", Align::right}, {"µs", Align::right}, {"words"}, {"last", Align::right}});
    table.add_row({"one", "1234567", "12", "many words stand in this cell and they need room", "3.5"});
    table.add_row({"two", "1", "1 µs", "few", "100"});
    return table;
}

RunResult run_for(Terminal const& terminal, std::vector<char const*> argv) {
    std::ostringstream out;
    std::ostringstream err;
    set_terminal(out, terminal);
    set_terminal(err, terminal);
    argv.insert(argv.begin(), "sextant");
    int const code = run(static_cast<int>(argv.size()), argv.data(), out, err);
    return {code, out.str(), err.str()};
}

}  // namespace

TEST_CASE("fit_text leaves alone what is no terminal's, and what fits") {
    std::string const report = wide_table().text();
    CHECK(fit_text(report, 0) == report);
    CHECK(fit_text(report, 500) == report);
    CHECK(fit_text("", 80).empty());
    CHECK(fit_text("no end of line", 80) == "no end of line");
}

TEST_CASE("fit_text wraps words inside their column before it cuts a table") {
    std::string const fitted = fit_text(wide_table().text(), 70);
    CHECK(fitted ==
          "name  a long header    µs  words                                  last\n"
          "----  -------------  ----  -------------------------------------  ----\n"
          "one         1234567    12  many words stand in this cell and       3.5\n"
          "                           they need room\n"
          "two               1  1 µs  few                                     100\n");
}

TEST_CASE("fit_text cuts a table that is far too wide into blocks that begin with the first column") {
    Table table({{"n", Align::right}, {"aaaaaaaaaaaaaaa"}, {"bbbbbbbbbbbbbbb"}, {"ccccccccccccccc"}});
    table.add_row({"1", "x", "y", "z"});
    CHECK(fit_text(table.text(), 36) ==
          "n  aaaaaaaaaaaaaaa  bbbbbbbbbbbbbbb\n-  ---------------  ---------------\n1  x                y\n\n"
          "n  ccccccccccccccc\n-  ---------------\n1  z\n");
}

TEST_CASE("fit_text keeps every word of every report within the terminal") {
    auto const columns = GENERATE(60U, 80U, 100U, 137U);
    std::vector<std::vector<std::string>> const questions{
        {"plan", "-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "16"},
        {"hardware"},
        {"models"},
        {"hardware", "show", "h100-sxm"},
        {"estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--dp", "8", "--explain"}};
    for (auto const& question : questions) {
        INFO(question[0] << " " << columns);
        std::string const report = run_sextant(question).out;
        std::string const fitted = fit_text(report, columns);
        std::vector<std::string> before = sorted_words(report);
        std::vector<std::string> after = sorted_words(fitted);
        before.erase(std::unique(before.begin(), before.end()), before.end());  // a repeated first column repeats words
        after.erase(std::unique(after.begin(), after.end()), after.end());
        CHECK(before == after);
        if (columns >= 80) CHECK(longest_line(fitted) <= std::max<std::size_t>(columns, 110));
    }
}

TEST_CASE("fit_text keeps names with their values, however long those are") {
    std::string const shorter(50, 'x');
    std::string const report =
        aligned_pairs({{"energy", shorter + " and some more words that are long enough"}, {"tokens/s", "776 K"}}, "  ");
    REQUIRE(longest_line(report) > 80);
    REQUIRE(longest_line(report) <= 110);
    std::string const fitted = fit_text(report, 80);
    CHECK_THAT(fitted, contains("\n  tokens/s  776 K\n"));
    CHECK(longest_line(fitted) <= 80);
    for (std::vector<std::string> const& question :
         {std::vector<std::string>{"run-plan", "--dollars", "2e6", "--cluster", "h100-sxm"},
          std::vector<std::string>{"goodput", "--parameters", "70B", "--gpus", "1024"}}) {
        std::string const page = fit_text(run_sextant(question).out, 80);
        INFO(page);
        CHECK(longest_line(page) <= 80);
    }
}

TEST_CASE("fit_text joins what a report broke, whatever its indent, but no line that begins something else") {
    std::string const headline(97, 'x');
    CHECK(fit_text("a " + headline.substr(2) + "\nplan: tp8\n", 80).find("\nplan: tp8\n") != std::string::npos);
    std::string const sentence =
        "80 % of measured runs of the first: TPOT 0.89 to 1.50 times (414 rows), TTFT 0.79 to 1.47 times (409 rows) of "
        "it";
    std::string const at_80 = fit_text(wrapped(sentence, "    "), 80);
    CHECK(at_80 == wrapped(sentence, "  ", 80));
    CHECK(longest_line(fit_text(run_sextant({"scaling", "optimum", "--flops", "1e24"}).out, 80)) <= 80);
}

TEST_CASE("fit_text keeps the items of a list apart and joins what hangs under an item by three columns") {
    std::string const first =
        "  launch = 3 us (framework test): " + std::string(35, 'x') + " and so on up to the end of";
    REQUIRE(longest_line(first) > 90);
    std::string const list = first + "\n    the line\n" + "  gap_of_launches = 0: nothing\n";
    CHECK(fit_text(list, 80) == wrapped(first + " the line", "    ", 80) + "  gap_of_launches = 0: nothing\n");
    std::string const items = first + " it\n" + "  casts_weights = 0: nothing\n";
    CHECK_THAT(fit_text(items, 80), contains("\n  casts_weights = 0: nothing\n"));
    CHECK_THAT(fit_text(first + " it\n" + "  - casts\n", 80), contains("\n  - casts\n"));
    CHECK_THAT(fit_text(first + " it\n" + "  $0.092 per million tokens\n", 80), contains("\n  $0.092 per million"));
    std::string const plan = "2: " + std::string(60, 'p') + " full gives way: +0.5 %: 135.2 ms ep communication more";
    REQUIRE(longest_line(wrapped(plan, "   ")) < 101);
    CHECK(fit_text(wrapped(plan, "   "), 80) == wrapped(plan, "  ", 80));
    // What a value goes on with stands under it; what stands under a line with room left is something else.
    std::string const words = std::string(50, 'm') + " 88 heads (8 kv), feed-forward";
    std::string const named = "  model        " + words + "\n" + std::string(15, ' ') + "33792, vocabulary 128256\n";
    CHECK(fit_text(named, 80) ==
          wrapped("  model        " + words + " 33792, vocabulary 128256", std::string(15, ' '), 80));
    CHECK_THAT(fit_text("  loss         " + std::string(40, 'l') + " and a few more words\n" + std::string(15, ' ') +
                            "D/N 17.6\n",
                        72),
               contains("\n               D/N 17.6\n"));
    for (std::vector<std::string> const& question :
         {std::vector<std::string>{"estimate", "--model", "deepseek-v3", "--cluster", "h100-sxm", "--gpus", "1024",
                                   "--pp", "16", "--ep", "64", "--explain"}}) {
        std::string const report = run_sextant(question).out;
        std::string const fitted = fit_text(report, 80);
        std::istringstream in(report);
        for (std::string line; std::getline(in, line);)
            if (line.starts_with("  framework") || line.starts_with("  accelerator"))
                CHECK_THAT(fitted, contains("\n" + line.substr(0, 40)));
    }
}

TEST_CASE("fit_text wraps the sentence behind a name and its value under itself") {
    std::string const line =
        "  generation          63.15 s  256 responses an engine, 145 decoding on average, 4.6 s with prompts\n";
    CHECK(fit_text(line, 80) ==
          "  generation          63.15 s  256 responses an engine, 145 decoding on average,\n"
          "                               4.6 s with prompts\n");
    std::string const picture = "  a  1  2  3  " + std::string(90, '#') + "\n";
    CHECK(fit_text(picture, 80) == picture);
}

TEST_CASE("a pipe is as wide as COLUMNS says, and has no width without it") {
    struct Pipe {
        int ends[2]{};
        Pipe() { REQUIRE(::pipe(ends) == 0); }
        Pipe(Pipe const&) = delete;
        Pipe& operator=(Pipe const&) = delete;
        ~Pipe() {
            ::close(ends[0]);
            ::close(ends[1]);
        }
    } const pipe;
    ::unsetenv("COLUMNS");
    CHECK(terminal_behind(pipe.ends[1]).columns == 0);
    ::setenv("COLUMNS", "72", 1);
    CHECK(terminal_behind(pipe.ends[1]).columns == 72);
    CHECK(terminal_behind(pipe.ends[1]).colour == Colour::never);
    ::setenv("COLUMNS", "wide", 1);
    CHECK(terminal_behind(pipe.ends[1]).columns == 0);
    ::unsetenv("COLUMNS");
}

TEST_CASE("sweep writes its progress anew on a terminal alone, not into a file of so many columns") {
    RunResult const swept = run_for({.columns = 80}, {"sweep", "memory", "--model", "llama-3.2-1b", "--cluster",
                                                      "h100-sxm", "--axis", "gpus=1,2", "--columns", "fits"});
    CHECK(swept.code == 0);
    CHECK(swept.err.find('\r') == std::string::npos);
}

TEST_CASE("the list of commands and errors fit the terminal") {
    Terminal const terminal{.columns = 80, .colour = Colour::never};
    std::string const overview = run_for(terminal, {"--help"}).out;
    CHECK(longest_line(overview) <= 80);
    CHECK(sorted_words(overview) == sorted_words(run_sextant({"--help"}).out));
    RunResult const wrong = run_for(terminal, {"estimate", "-m", "t5-11b", "-c", "h100-sxm"});
    CHECK(longest_line(wrong.err) <= 80);
    CHECK(sorted_words(wrong.err) == sorted_words(run_sextant({"estimate", "-m", "t5-11b", "-c", "h100-sxm"}).err));
}

TEST_CASE("colour is for terminals alone, and changes no letter") {
    std::string const report = wide_table().text() + "fits\ndoes not fit, assumed\nbenefits\n";
    std::string const painted = coloured(report);
    CHECK(painted != report);
    CHECK(without_escapes(painted) == report);
    CHECK_THAT(painted, contains("\nbenefits\n"));
    CHECK_THAT(painted, contains("\x1b[31mdoes not fit\x1b[0m"));
    Terminal const plain{.columns = 80, .colour = Colour::never};
    Terminal const full{.columns = 80, .colour = Colour::used};
    CHECK_THAT(run_for(plain, {"hardware"}).out, !contains("\x1b"));
    CHECK_THAT(run_for(full, {"hardware"}).out, contains("\x1b[1m"));
    CHECK_THAT(run_for(full, {"nothing"}).err, contains("\x1b[31merror:\x1b[0m"));
    CHECK_THAT(run_for(full, {"hardware", "--format", "csv"}).out, !contains("\x1b"));
    CHECK(run_for(full, {"hardware", "--format", "json"}).out == run_sextant({"hardware", "--format", "json"}).out);
    CHECK_THAT(run_sextant({"hardware"}).out, !contains("\x1b"));
}

TEST_CASE("help fits the terminal, its sentences fill their lines, and what is to copy stays whole") {
    using Command = std::vector<char const*>;
    for (Command command : {Command{"plan"}, Command{"simulate"}, Command{"rl"}, Command{"sweep"}, Command{"merge"},
                            Command{"completion"}, Command{"run-plan"}, Command{"export"}, Command{"doctor"},
                            Command{"calibrate", "fit"}, Command{"serve", "simulate"}, Command{"scaling", "fit"}}) {
        CAPTURE(command);
        command.emplace_back("--help");
        auto const whole = run_sextant({command.begin(), command.end()}).out;
        auto const help = run_for({.columns = 80, .colour = Colour::never}, command).out;
        CHECK(sorted_words(help) == sorted_words(whole));
        CHECK_THAT(help, !contains("\n\n\n"));
        auto const examples = whole.find("Examples:\n");
        REQUIRE(examples != std::string::npos);
        CHECK_THAT(help, contains(whole.substr(examples, whole.find_last_not_of('\n') - examples)));
        std::istringstream in(help.substr(0, help.find("Examples:\n")));
        auto const is_sentence = [](std::string const& line) {
            return !line.empty() && line.front() != ' ' && line.back() != ':' && !line.starts_with("Usage:");
        };
        std::string before;
        for (std::string line; std::getline(in, line); before = line) {
            if (line.find("sextant ") != std::string::npos && line.starts_with("  ")) continue;  // to copy
            CAPTURE(before, line);
            CHECK(line.size() <= 80);
            if (is_sentence(before) && is_sentence(line))
                CHECK(before.size() + 1 + line.substr(0, line.find(' ')).size() > 80);
        }
    }
}
