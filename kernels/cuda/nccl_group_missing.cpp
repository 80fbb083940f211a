// Linked instead of nccl_group.cu where NCCL was not found.
#include "kernels/cuda/nccl_group.hpp"
#include "kernels/harness/errors.hpp"

namespace sextant::bench {

struct NcclGroup::State {};

bool NcclGroup::built() { return false; }
std::string NcclGroup::version() { return {}; }
void NcclGroup::set_buffers(std::int64_t, std::uint64_t) {}
void NcclGroup::release_buffers() {}
NcclGroup::NcclGroup(int, double) { throw Unavailable("built without NCCL"); }
NcclGroup::~NcclGroup() = default;
std::unique_ptr<Watchdog::Watch> NcclGroup::watch(std::string const&) { return nullptr; }
std::string NcclGroup::fault() const { return {}; }
void NcclGroup::enqueue(std::string const&) {}
void NcclGroup::wait() {}
bool NcclGroup::idle() const { return true; }
int NcclGroup::ranks() const { return 0; }
int NcclGroup::first_local_rank() const { return 0; }
std::vector<float> NcclGroup::received(int, std::int64_t, std::int64_t) const { return {}; }

}  // namespace sextant::bench
