// The compiled half of the Python package: questions go in as the program's arguments, answers come out as its report.
#include "cli/interrupt.hpp"
#include "python/call.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace nb = nanobind;

namespace sextant::python {
namespace {

/// How often the thread that asked looks for Ctrl-C.
constexpr std::chrono::milliseconds look_around{50};
/// What a command gets to end with what it has, before it is left alone.
constexpr std::chrono::milliseconds last_words{800};

// While the interpreter ends, it unwinds every daemon thread that asks for its lock, through frames that allow no
// exception. Those that wait for a call stay away from it then, until the process is gone.
std::atomic<int> with_the_lock{0};  ///< threads that work for a call with the interpreter's lock, or wait for it
std::atomic<bool> leaving{false};
std::thread::id leaver;

struct WithTheLock {
    WithTheLock() { ++with_the_lock; }
    ~WithTheLock() { --with_the_lock; }
};

/// Waits with the interpreter's lock free for other threads.
bool wait(Call& call, std::chrono::milliseconds time, std::vector<std::string>& progress) {
    nb::gil_scoped_release const free;
    --with_the_lock;
    bool const ended = call.wait(time, progress);
    ++with_the_lock;
    if (leaving && std::this_thread::get_id() != leaver)
        for (--with_the_lock;;)
            pause();
    return ended;
}

/// Until the call has ended. @throws nb::python_error of a signal's handler (KeyboardInterrupt) or of `progress`.
void watch(Call& call, nb::object const& progress) {
    for (bool ended = false; !ended;) {
        std::vector<std::string> news;
        ended = wait(call, look_around, news);
        if (!progress.is_none())
            for (std::string const& text : news)
                progress(text);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

bool ends_soon(Call& call) {
    std::vector<std::string> unheard;
    auto const end = std::chrono::steady_clock::now() + last_words;
    while (std::chrono::steady_clock::now() < end)
        if (wait(call, look_around, unheard)) return true;
    return false;
}

/// Before nanobind 3 and Python 3.12 there may be only its type and its argument yet.
nb::object exception_of(nb::python_error const& raised) {
    nb::object const value = nb::borrow(raised.value());
    if (value.is_valid() && PyExceptionInstance_Check(value.ptr())) return value;
    return value.is_valid() && !value.is_none() ? raised.type()(value) : raised.type()();
}

/// (exit code, report, notes, error, exception): the last one is what was raised meanwhile and stopped the command.
nb::tuple ask(std::vector<std::string> arguments, nb::object const& progress) {
    Call call(std::move(arguments), progress.is_none() ? Call::Progress::unheard : Call::Progress::heard);
    WithTheLock const here;
    try {
        watch(call, progress);
    } catch (nb::python_error& raised) {
        nb::object const exception = exception_of(raised);
        call.stop();
        if (ends_soon(call)) return nb::make_tuple(cli::interrupted_exit, call.answer().report, "", "", exception);
        return nb::make_tuple(cli::interrupted_exit, "", "", "", exception);
    }
    Answer const& answer = call.answer();
    return nb::make_tuple(answer.ending.exit_code, answer.report, answer.notes, answer.ending.error, nb::none());
}

/// The program itself, on this process's own output.
int program(std::vector<std::string> const& arguments) {
    nb::gil_scoped_release const free;
    std::vector<char const*> argv{"sextant"};
    for (std::string const& argument : arguments)
        argv.push_back(argument.c_str());
    return cli::run_program(static_cast<int>(argv.size()), argv.data());
}

/// What a command that could not be stopped still uses must not be taken down under it.
void leave(int status, void*) {
    if (Call::at_work() > 0) _exit(status);
}

/// When the interpreter begins to end.
void prepare_to_leave() {
    leaver = std::this_thread::get_id();
    leaving = true;
    nb::gil_scoped_release const free;
    auto const end = std::chrono::steady_clock::now() + last_words;
    while (with_the_lock > 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(look_around / 10);
    on_exit(leave, nullptr);  // as late as possible, so that it comes before the ends of what calls have built
}

/// In a copy of the process no other thread lives on.
void begin_as_a_copy() {
    Call::forget_all();
    with_the_lock = 0;
}

}  // namespace
}  // namespace sextant::python

NB_MODULE(_program, module) {
    using namespace sextant::python;
    module.def("ask", &ask, nb::arg("arguments"), nb::arg("progress") = nb::none());
    module.def("program", &program, nb::arg("arguments"));
    module.attr("version") = SEXTANT_VERSION;
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&prepare_to_leave));
    nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") = nb::cpp_function(&begin_as_a_copy));
}
