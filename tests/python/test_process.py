"""In one process: again and again, from several threads, interrupted, crashed, and without SimGrid."""

import concurrent.futures
import contextlib
import ctypes.util
import os
import resource
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import sextant

LONG = {"parameters": "405B", "gpus": 16384, "days": 3650, "trials": 1_000_000}  # hours


class Enough(Exception):
    pass


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def left_behind():
    """Open files, threads and children of this process."""
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def ends(process):
    """(exit status, what it wrote as errors)"""
    try:
        _, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()  # or leaving it would be waited for
        raise
    return process.returncode, err


def test_a_thousand_calls_leave_nothing_behind():
    def calls(count):
        for _ in range(count):
            sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8)

    calls(300)  # catalogues, arenas of the allocator
    before, others = resident_bytes(), left_behind()
    calls(1000)
    assert resident_bytes() - before < 4e6  # a report is 10 kB of text
    assert left_behind() == others


def test_discrete_events_run_twice_and_agree():
    def ask():
        return sextant.simulate(model="gpt2", cluster="a100-sxm-80gb", gpus=8)

    assert ask() == ask()


def test_threads_get_the_same_answers_as_one_after_the_other():
    def ask(dp):
        if dp == 32:
            return sextant.simulate(model="gpt2", cluster="a100-sxm-80gb", gpus=dp)
        return sextant.estimate(model="gpt2", cluster="h100-sxm", dp=dp)

    sizes = [8, 16, 32, 64] * 5
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, sizes))
    assert together == [ask(dp) for dp in sizes]


def test_other_threads_run_while_a_question_is_worked_on():
    begun, enough = threading.Event(), threading.Event()
    ended = []

    def heard(_):
        begun.set()
        if enough.is_set():
            raise Enough

    def work():
        try:
            sextant.goodput(**LONG, progress=heard)
        except Enough as stopped:
            ended.append(stopped)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    assert sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8).ok
    assert thread.is_alive()
    enough.set()
    thread.join(60)
    assert len(ended) == 1


def test_questions_of_several_kinds_are_put_at_once():
    questions = [
        lambda: sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8),
        lambda: sextant.simulate(model="gpt2", cluster="a100-sxm-80gb", gpus=8),
        lambda: sextant.sweep("estimate", axis={"dp": [8, 16]}, model="gpt2", cluster="h100-sxm", threads=2),
        lambda: sextant.plan(model="gpt2", cluster="a100-sxm-80gb", gpus=8, verify=2, top=2),
    ]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda ask: ask(), questions * 5))
    assert together == [ask() for ask in questions] * 5
    left_behind()


def test_a_crash_in_the_discrete_events_is_an_exception():
    ended = threading.Event()

    def shoot():  # whatever this process starts
        while not ended.is_set():
            for task in os.listdir("/proc/self/task"):
                try:
                    children = Path(f"/proc/self/task/{task}/children").read_text(encoding="ascii")
                except OSError:
                    continue
                for child in children.split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), signal.SIGSEGV)

    killer = threading.Thread(target=shoot)
    killer.start()
    try:
        with pytest.raises(sextant.Error, match="SIGSEGV"):
            for _ in range(100):  # it may come too late for one
                sextant.simulate(model="llama-3.1-70b", cluster="h100-sxm", gpus=64, tp=8, pp=8, granularity="op")
    finally:
        ended.set()
        killer.join()
    assert sextant.simulate(model="gpt2", cluster="a100-sxm-80gb", gpus=8).ok


def test_progress_is_told_in_words():
    heard = []
    sextant.goodput(parameters="8B", gpus=64, trials=50, progress=heard.append)
    assert heard and all(text.startswith("simulating: ") for text in heard)
    heard.clear()
    sextant.sweep("estimate", axis={"dp": [8, 16]}, model="gpt2", cluster="h100-sxm", progress=heard.append)
    assert all(text.startswith("sweep: ") for text in heard)


def test_what_the_callback_raises_ends_the_question_with_what_was_finished():
    def stop(_):
        raise Enough("heard enough")

    with pytest.raises(Enough) as stopped:  # trials of weeks: some have ended when the first progress is told
        sextant.goodput(**{**LONG, "days": 30}, progress=stop)
    assert stopped.value.report.simulation.interrupted is True
    left_behind()


def test_ctrl_c_ends_a_search_with_what_was_finished():
    def press(_):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stopped:
        sextant.plan(model="deepseek-v3", cluster="h100-sxm", gpus=list(range(1024, 16385, 64)), space="full", every_plan=True, progress=press)
    assert stopped.value.report.interrupted is True and not stopped.value.report.ok
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupted_sweep_says_that_it_was():
    def press(_):
        signal.raise_signal(signal.SIGINT)

    question = {"model": "deepseek-v3", "cluster": "h100-sxm", "space": "full"}
    with pytest.raises(KeyboardInterrupt) as stopped:
        sextant.sweep("plan", axis={"gpus": list(range(1024, 16385, 64))}, columns="counts.enumerated", threads=1, progress=press, **question)
    assert stopped.value.report.interrupted is True and not stopped.value.report.ok
    assert sextant.sweep("estimate", axis={"dp": [8]}, model="gpt2", cluster="h100-sxm").interrupted is False


# One that can end early, and one that waits for a file that never comes and is left alone.
@pytest.mark.parametrize("question", [f"goodput(**{LONG!r})", "models.show('pipe.json')"])
def test_ctrl_c_from_a_terminal_ends_a_program_at_once(question, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.json")
    code = f"import sextant; print('asked', flush=True); sextant.{question}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGINT)
        status, err = ends(process)
    assert status == -signal.SIGINT and "KeyboardInterrupt" in err


def test_a_program_ends_as_it_wants_to_while_a_thread_asks():
    code = f"""
import sextant, sys, threading
begun = threading.Event()
threading.Thread(target=lambda: sextant.goodput(**{LONG!r}, progress=lambda _: begun.set()), daemon=True).start()
begun.wait()
sys.exit(5)
"""
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        assert ends(process) == (5, "")


def test_a_copy_of_the_process_can_ask_too():
    code = f"""
import os, sextant, sys, threading
begun = threading.Event()
threading.Thread(target=lambda: sextant.goodput(**{LONG!r}, progress=lambda _: begun.set()), daemon=True).start()
begun.wait()
child = os.fork()
if child == 0:
    answers = sextant.sweep("estimate", axis={{"dp": [8, 16]}}, model="gpt2", cluster="h100-sxm", threads=1)
    os._exit(len(answers.frame()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stderr=subprocess.PIPE, text=True) as process:
        assert ends(process) == (2, "")


def test_warnings_of_the_program_are_warnings(tmp_path):
    script = tmp_path / "train.sh"
    script.write_text("torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 1 --log-interval 10\n")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        report = sextant.estimate(model="gpt2", cluster="h100-sxm", gpus=8, from_megatron=script)
    assert [each.category for each in heard] in ([], [sextant.Notice])
    assert report.plan.tp == 2


def test_all_but_the_discrete_events_work_without_simgrid(tmp_path):
    name = ctypes.util.find_library("simgrid")
    if name is None:
        pytest.skip("no SimGrid here that could be hidden")
    (tmp_path / name).write_text("no library")
    code = """
import sextant
assert sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8).ok
try:
    sextant.simulate(model="gpt2", cluster="h100-sxm", gpus=8)
except sextant.UnavailableError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert "is SimGrid" in done.stdout


def test_the_package_is_the_installed_one():
    assert "site-packages" in sextant.__file__
    done = subprocess.run([sys.executable, "-m", "sextant", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"sextant {sextant.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "sextant", "estimate"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("sextant: error: ")


def test_the_program_in_the_package_is_interrupted_as_the_program_is():
    words = ["goodput", "--parameters=405B", "--gpus=16384", "--days=3650", "--trials=1000000", "--progress", "--format=json"]
    with subprocess.Popen([sys.executable, "-m", "sextant", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and b'"interrupted": true' in out
