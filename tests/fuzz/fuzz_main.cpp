// libFuzzer's entry: the reader is named by SEXTANT_FUZZ_READER (scripts/fuzz).
#include "tests/fuzz/readers.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

sextant::fuzz::Reader const* wanted = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
    char const* const name = std::getenv("SEXTANT_FUZZ_READER");
    for (sextant::fuzz::Reader const& reader : sextant::fuzz::readers()) {
        if (name == nullptr)
            std::printf("%.*s %.*s\n", static_cast<int>(reader.name.size()), reader.name.data(),
                        static_cast<int>(reader.seeds.size()), reader.seeds.data());
        else if (reader.name == name)
            wanted = &reader;
    }
    if (name == nullptr) std::exit(0);
    if (wanted == nullptr) {
        std::fprintf(stderr, "fuzz_readers: no reader '%s'\n", name);
        std::exit(2);
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    sextant::fuzz::try_read(*wanted, {reinterpret_cast<char const*>(data), size});
    return 0;
}
