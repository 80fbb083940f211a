// The one file that knows MPI.
#include "cli/sweep/ranks.hpp"

#include <mpi.h>

#include <array>
#include <list>

namespace sextant::cli {
namespace {

class MpiRanks final : public Ranks {
public:
    MpiRanks() {
        MPI_Init(nullptr, nullptr);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~MpiRanks() override {
        for (Sent& sent : sent_)
            MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
        MPI_Finalize();
    }
    MpiRanks(MpiRanks const&) = delete;
    MpiRanks& operator=(MpiRanks const&) = delete;

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }

    void send(int to, std::string message) override {
        forget_delivered();
        Sent& sent = sent_.emplace_back(Sent{std::move(message), MPI_REQUEST_NULL});
        MPI_Isend(sent.message.data(), static_cast<int>(sent.message.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD,
                  &sent.request);
    }

    std::optional<std::pair<int, std::string>> receive() override {
        forget_delivered();
        int there = 0;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
        if (there == 0) return std::nullopt;
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        std::string message(static_cast<std::size_t>(bytes), '\0');
        MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return std::pair{status.MPI_SOURCE, std::move(message)};
    }

    void abort(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

private:
    struct Sent {
        std::string message;
        MPI_Request request;
    };
    void forget_delivered() {
        sent_.remove_if([](Sent& sent) {
            int done = 0;
            MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
            return done != 0;
        });
    }

    static constexpr int tag = 1;
    int rank_ = 0;
    int size_ = 1;
    std::list<Sent> sent_;  ///< their addresses stay
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() { return std::make_unique<MpiRanks>(); }

std::string mpi_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    std::string const version(text.data(), static_cast<std::size_t>(length));
    return version.substr(0, version.find_first_of(",\n"));
}

}  // namespace sextant::cli
