#pragma once

#include <set>
#include <string>

namespace sextant::bench {

/// The problems that were begun and not ended, in a file beside the rows ("rows.csv.begun", a resume key a line). What
/// ends a process without a row of it, as a failure in another process of the run, a signal, or a node that is lost, is
/// known by it to the next run, which takes it last. There is no file while nothing is begun.
class BegunProblems {
public:
    /// @param rows_path "-": there is no file, and nothing is kept
    explicit BegunProblems(std::string const& rows_path);
    /// Keys that an earlier run has left.
    std::set<std::string> const& keys() const { return keys_; }
    /// Forgets what an earlier run has left.
    void clear();
    /// @throws CannotWrite
    void begin(std::set<std::string> const& keys);
    void end(std::set<std::string> const& keys);

private:
    void write() const;

    std::string path_;  ///< empty: no file
    std::set<std::string> keys_;
};

}  // namespace sextant::bench
