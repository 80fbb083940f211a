#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string_view>

namespace sextant {

/// A text to read from front to back, which tells every few MiB how far the reader is: for parsers that take iterators.
/// Neither may go away before the reader.
class ToldText {
public:
    using Tell = std::function<void(std::size_t done, std::size_t of)>;
    /// @param tell may be empty
    ToldText(std::string_view text, Tell const& tell) : text_(text), tell_(tell) {}

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = char;
        using difference_type = std::ptrdiff_t;
        using pointer = char const*;
        using reference = char const&;

        Iterator(ToldText* of, char const* at) : of_(of), at_(at) {}
        reference operator*() const { return *at_; }
        Iterator& operator++() {
            if (++at_ == of_->next_) of_->tell();
            return *this;
        }
        Iterator operator++(int) {
            Iterator const before = *this;
            ++*this;
            return before;
        }
        bool operator==(Iterator const& other) const { return at_ == other.at_; }

    private:
        ToldText* of_;
        char const* at_;
    };

    Iterator begin() {
        told_ = 0;
        plan();
        return {this, text_.data()};
    }
    Iterator end() { return {this, text_.data() + text_.size()}; }

private:
    static constexpr std::size_t every = std::size_t{4} << 20;

    void plan() { next_ = tell_ && text_.size() - told_ > every ? text_.data() + told_ + every : nullptr; }
    void tell() {
        told_ += every;
        tell_(told_, text_.size());
        plan();
    }

    std::string_view text_;
    Tell const& tell_;
    std::size_t told_ = 0;
    char const* next_ = nullptr;
};

}  // namespace sextant
