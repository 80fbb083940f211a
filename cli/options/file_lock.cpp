#include "cli/options/file_lock.hpp"

#include "core/error.hpp"

#include <sys/file.h>

#include <cerrno>

namespace sextant::cli {

void lock_file(int file, std::string const& path, std::string_view writer) {
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw InputError("{}: {} is writing it", path, writer);
}

}  // namespace sextant::cli
