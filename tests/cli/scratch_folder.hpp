#pragma once

#include "core/json/text_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

/// A folder of its own for one test, removed at the end with all that is in it.
class ScratchFolder {
public:
    explicit ScratchFolder(std::string const& name)
        : path_(std::filesystem::temp_directory_path() / ("sextant_" + std::to_string(::getpid()) + "_" + name)) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directory(path_);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(ScratchFolder const&) = delete;
    ScratchFolder& operator=(ScratchFolder const&) = delete;

    [[nodiscard]] std::string path(std::string const& file) const { return (path_ / file).string(); }
    /// Writes a file and returns its path.
    [[nodiscard]] std::string file(std::string const& name, std::string const& text) const {
        sextant::write_text_file(path(name), text);
        return path(name);
    }
    [[nodiscard]] std::size_t count() const {
        std::size_t n = 0;
        for ([[maybe_unused]] auto const& entry : std::filesystem::directory_iterator(path_))
            ++n;
        return n;
    }

private:
    std::filesystem::path path_;
};
