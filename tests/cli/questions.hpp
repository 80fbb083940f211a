#pragma once

#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments a, Arguments const& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// Every run of spaces and ends of lines as one space.
inline std::string unwrapped(std::string const& text) {
    std::string out;
    for (char const c : text)
        if (c != ' ' && c != '\n')
            out += c;
        else if (!out.ends_with(' '))
            out += ' ';
    return out;
}

/// The JSON report of a question, whose answer may be no.
inline Json answer(Arguments const& arguments) {
    RunResult const result = run_sextant(arguments + Arguments{"--format", "json"});
    INFO(result.err);
    REQUIRE((result.code == 0 || result.code == 1));
    return Json::parse(result.out);
}

/// The JSON report of a question that has an answer.
inline Json report(Arguments const& arguments) {
    RunResult const result = run_sextant(arguments + Arguments{"--format", "json"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

/// A wrong question: code 2, nothing on standard output, one line of error with each of `parts` in it.
template <class... Parts>
void check_refused(Arguments const& arguments, Parts const&... parts) {
    RunResult const result = run_sextant(arguments);
    CAPTURE(arguments, result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("sextant: error: "));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (std::string const& part : {std::string(parts)...})
        CHECK_THAT(result.err, contains(part));
}
