#include "core/json/text_file.hpp"

#include "core/error.hpp"
#include "core/json/open_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace sextant {
namespace {

std::string reason(int code) { return std::strerror(code); }

/// Devices and pipes cannot be replaced by a rename; they are written in place.
bool is_special(std::filesystem::path const& path) {
    std::error_code ignored;
    auto const status = std::filesystem::status(path, ignored);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

Keep write_stream(std::filesystem::path const& target, std::function<Keep(std::ostream&)> const& write,
                  std::string const& shown) {
    errno = 0;
    Keep keep = Keep::no;
    std::ofstream stream(target, std::ios::binary | std::ios::trunc);
    if (stream) {
        keep = write(stream);
        stream.close();
    }
    if (!stream) {
        auto const code = errno;
        throw InputError("{}: cannot be written ({})", shown, code != 0 ? reason(code) : "the stream failed");
    }
    return keep;
}

}  // namespace

std::ifstream open_text_file(std::string const& path) {
    std::error_code ignored;
    if (path.empty()) throw InputError("file name: empty (it must name a file)");
    if (std::filesystem::is_directory(path, ignored)) throw InputError("{}: is a folder (a file is expected)", path);
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        int const code = errno;
        std::string const why = code != 0 ? reason(code) : "unknown reason";
        bool const absent = code == ENOENT;
        bool const bare = path.find_first_of("./") == std::string::npos;  // "h100-sxm": a name where a file is meant
        throw InputError("{}: cannot be opened ({}{})", path, why,
                         !absent ? ""
                         : bare  ? "; the path of a file is expected here, such as ./mine.json"
                                 : "; a path that does not begin with / is looked for in the current folder");
    }
    return stream;
}

std::string read_text_file(std::string const& path, std::size_t limit_bytes) {
    std::ifstream stream = open_text_file(path);
    auto const too_large = [&] {
        return InputError("{}: larger than {} bytes (the most that is read)", path, limit_bytes);
    };
    std::string text;
    std::error_code unknown;  // of a pipe or a device
    if (auto const size = std::filesystem::file_size(path, unknown); !unknown) {
        if (size > limit_bytes) throw too_large();
        text.reserve(static_cast<std::size_t>(size));
    }
    std::string chunk(std::size_t{1} << 16, '\0');
    while (stream) {
        stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
        text.append(chunk, 0, static_cast<std::size_t>(stream.gcount()));
        if (text.size() > limit_bytes) throw too_large();
    }
    if (stream.bad()) throw InputError("{}: reading failed ({})", path, reason(errno));
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    return text;
}

void require_folder_of(std::string const& path) {
    std::error_code failed;
    std::filesystem::path const folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, failed))
        throw InputError("{}: the folder '{}' does not exist (create it first)", path, folder.string());
}

void write_text_file(std::string const& path, std::string_view text) {
    write_text_file(path, [&](std::ostream& stream) {
        stream.write(text.data(), static_cast<std::streamsize>(text.size()));
        return Keep::yes;
    });
}

Keep write_text_file(std::string const& path, std::function<Keep(std::ostream&)> const& write) {
    namespace fs = std::filesystem;
    std::error_code failed;
    if (path.empty()) throw InputError("output file: empty name (it must name a file)");
    if (fs::is_directory(path, failed)) throw InputError("{}: is a folder (a file name is expected)", path);
    if (is_special(path)) return write_stream(path, write, path);

    fs::path target = path;
    if (fs::is_symlink(target, failed)) {  // keep the link, replace what it points to
        auto const resolved = fs::weakly_canonical(target, failed);
        if (!failed) target = resolved;
    }
    require_folder_of(target.string());

    fs::path temporary = target;
    temporary += fmt::format(".{}.tmp", ::gettid());  // no other thread's, of this process or another
    try {
        Keep const keep = write_stream(temporary, write, path);
        if (keep == Keep::yes)
            fs::rename(temporary, target, failed);
        else
            fs::remove(temporary, failed);
        if (failed) throw InputError("{}: cannot be replaced ({})", path, failed.message());
        return keep;
    } catch (...) {
        std::error_code ignored;
        fs::remove(temporary, ignored);
        throw;
    }
}

}  // namespace sextant
