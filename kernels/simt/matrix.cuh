#pragma once

// Tensor-core pieces of one warp: 16-bit operands, fp32 sums. Lane l = 4 g + t holds, of an accumulator of 16 rows and
// 8 columns, elements (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1). Source: PTX ISA 8.0, sections "Matrix Fragments for
// mma.m16n8k16" and "ldmatrix".

#include "kernels/simt/simt.cuh"

namespace sextant::bench::device {

#ifdef __CUDACC__

template <class T>
__device__ inline std::uint32_t pack_pair(float low, float high);
template <>
__device__ inline std::uint32_t pack_pair<bf16>(float low, float high) {
    __nv_bfloat162 const pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<std::uint32_t const*>(&pair);
}
template <>
__device__ inline std::uint32_t pack_pair<fp16>(float low, float high) {
    __half2 const pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<std::uint32_t const*>(&pair);
}

/// Four 8x8 matrices from shared memory: lane l gives the address of row l % 8 of matrix l / 8, and receives of matrix
/// i in r[i] the elements (g, 2t) and (g, 2t+1).
__device__ inline void load_matrices(std::uint32_t (&r)[4], void const* row) {
    auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
/// The same transposed: elements (2t, g) and (2t+1, g).
__device__ inline void load_matrices_transposed(std::uint32_t (&r)[4], void const* row) {
    auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

/// c[16, 8] += a[16, 16] b[16, 8].
template <class T>
__device__ inline void multiply_add(float (&c)[4], std::uint32_t const (&a)[4], std::uint32_t b0, std::uint32_t b1);
template <>
__device__ inline void multiply_add<bf16>(float (&c)[4], std::uint32_t const (&a)[4], std::uint32_t b0,
                                          std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void multiply_add<fp16>(float (&c)[4], std::uint32_t const (&a)[4], std::uint32_t b0,
                                          std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#else

template <class T>
std::uint32_t pack_pair(float low, float high) {
    return static_cast<std::uint32_t>(from_float<T>(low).bits) | static_cast<std::uint32_t>(from_float<T>(high).bits)
                                                                     << 16;
}

namespace emulated {

/// Element (row, column) of matrix `matrix`, from the row addresses that the lanes published.
inline std::uint32_t element(simt::Slot const* lanes, int matrix, unsigned row, unsigned column) {
    unsigned char const* address;
    std::memcpy(&address, lanes[8 * static_cast<unsigned>(matrix) + row].bytes, sizeof address);
    std::uint16_t bits;
    std::memcpy(&bits, address + 2 * column, sizeof bits);
    return bits;
}

/// Registers a[4], b[2] of a lane.
struct Operands {
    std::uint32_t a[4], b[2];
};

template <class T>
float half_of(std::uint32_t pair, unsigned which) {
    return to_float(T{static_cast<std::uint16_t>(pair >> (16 * which))});
}

}  // namespace emulated

inline void load_matrices(std::uint32_t (&r)[4], void const* row) {
    simt::Slot slot{};
    std::memcpy(slot.bytes, &row, sizeof row);
    simt::Slot const* const lanes = simt::exchange(slot);
    unsigned const g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i)
        r[i] = emulated::element(lanes, i, g, 2 * t) | emulated::element(lanes, i, g, 2 * t + 1) << 16;
}

inline void load_matrices_transposed(std::uint32_t (&r)[4], void const* row) {
    simt::Slot slot{};
    std::memcpy(slot.bytes, &row, sizeof row);
    simt::Slot const* const lanes = simt::exchange(slot);
    unsigned const g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i)
        r[i] = emulated::element(lanes, i, 2 * t, g) | emulated::element(lanes, i, 2 * t + 1, g) << 16;
}

template <class T>
void multiply_add(float (&c)[4], std::uint32_t const (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    emulated::Operands const mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
    simt::Slot slot{};
    std::memcpy(slot.bytes, &mine, sizeof mine);
    simt::Slot const* const lanes = simt::exchange(slot);
    unsigned const g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    // Rows g and g + 8 of the left matrix, columns 2t and 2t + 1 of the right one.
    float rows[2][16], columns[2][16];
    for (unsigned lane = 0; lane < 4; ++lane) {
        emulated::Operands left, right[2];
        std::memcpy(&left, lanes[4 * g + lane].bytes, sizeof left);
        for (unsigned i = 0; i < 2; ++i)
            std::memcpy(&right[i], lanes[4 * (2 * t + i) + lane].bytes, sizeof right[i]);
        for (unsigned k : {2 * lane, 2 * lane + 1, 2 * lane + 8, 2 * lane + 9})
            for (unsigned i = 0; i < 2; ++i) {
                rows[i][k] = emulated::half_of<T>(left.a[i + 2 * (k / 8)], k % 2);
                columns[i][k] = emulated::half_of<T>(right[i].b[k / 8], k % 2);
            }
    }
    for (unsigned e = 0; e < 4; ++e)
        for (unsigned k = 0; k < 16; ++k)
            c[e] += rows[e / 2][k] * columns[e % 2][k];
}

#endif

}  // namespace sextant::bench::device
