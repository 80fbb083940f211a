#include "kernels/harness/begun_problems.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {

namespace fs = std::filesystem;

BegunProblems::BegunProblems(std::string const& rows_path) : path_(rows_path == "-" ? "" : rows_path + ".begun") {
    if (path_.empty()) return;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) keys_.insert(line);
}

void BegunProblems::clear() {
    keys_.clear();
    write();
}

void BegunProblems::begin(std::set<std::string> const& keys) {
    keys_.insert(keys.begin(), keys.end());
    write();
}

void BegunProblems::end(std::set<std::string> const& keys) {
    for (std::string const& key : keys)
        keys_.erase(key);
    write();
}

/// Whole or not at all: a run may be killed at any time.
void BegunProblems::write() const {
    if (path_.empty()) return;
    std::error_code fault;
    if (keys_.empty()) {
        fs::remove(path_, fault);
        return;
    }
    std::string const fresh = path_ + ".new";
    {
        std::ofstream file(fresh);
        for (std::string const& key : keys_)
            file << key << "\n";
        file.flush();
        if (!file) fault = std::make_error_code(std::errc::io_error);
    }
    if (!fault) fs::rename(fresh, path_, fault);
    if (fault) throw CannotWrite(path_ + ": cannot be written (" + fault.message() + ")");
}

}  // namespace sextant::bench
