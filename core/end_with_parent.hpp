#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace sextant {

/// First thing in a child process: it is killed when its parent ends, however that ends, and exits with `code` where
/// the parent is gone already. May be called in a copy of one thread of several.
inline void end_with_parent(pid_t parent, int code) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(code);  // it died before the line above
}

}  // namespace sextant
