#pragma once

#include <cstddef>

namespace sextant::bench {

/// The processes of one run, over one machine or several. This one, of a single process, does nothing; the one for MPI
/// makes every process do what the first one decides, so that all of them walk through the same measurements.
class World {
public:
    virtual ~World() = default;
    virtual int rank() const { return 0; }
    virtual int size() const { return 1; }
    /// Machines that the processes run on, equally many on each.
    virtual int nodes() const { return 1; }
    /// The first process's `data`, in every process.
    virtual void share(void* data, std::size_t bytes);
    /// The largest `value` of all processes, in every process. Of several, NaN counts as infinite.
    virtual double largest(double value) { return value; }
    /// Ends all processes, which may wait for this one. Of a single process it does nothing.
    virtual void abort(int exit_code);

    /// What the first process thinks.
    bool agree(bool mine);
};

/// The world of this run; a single process until `set_world`.
World& world();
void set_world(World& replacement);

}  // namespace sextant::bench
