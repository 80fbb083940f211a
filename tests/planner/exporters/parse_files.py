"""Parses every exported file below a folder by its format's own rules, and runs the scripts with stand-ins for what they
start. Each folder has the text that was put into names and paths in expected.txt: it has to come out to the letter.

Exit code 77: a parser is missing.
"""

import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import yaml

    try:
        import tomllib
    except ImportError:
        import tomli as tomllib
except ImportError as missing:
    print(missing)
    sys.exit(77)


def operand(text):
    return "./" + text if text.startswith("-") else text


def constants(tree):
    return {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


def check_python(path, expected):
    found = constants(ast.parse(path.read_bytes(), str(path)))
    assert found["DATA_PATH"] == expected and found["CHECKPOINT_FOLDER"] == expected, path


def check_job(path, expected):
    service, files, job = yaml.safe_load_all(path.read_text())
    assert service["spec"]["clusterIP"] == "None"
    for name, text in files["data"].items():
        assert text == (path.parent / name).read_text(), (path, name)
    spec = job["spec"]
    assert spec["completions"] == spec["parallelism"] and spec["completionMode"] == "Indexed"
    container = spec["template"]["spec"]["containers"][0]
    assert container["image"] == expected
    assert all(isinstance(entry["value"], str) for entry in container["env"])


def started_words(path, folder):
    """What the script starts, word by word."""
    tools = pathlib.Path(folder) / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("torchrun", "vllm", "python3", "trtllm-serve", "srun"):
        tool = tools / name
        tool.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
        tool.chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "NODE_RANK": "0", "MASTER_ADDR": "here"}
    out = subprocess.run(["bash", str(path)], env=environment, cwd=folder, capture_output=True, check=True)
    return out.stdout.decode().split("\0")[:-1]


def check_script(path, expected):
    with tempfile.TemporaryDirectory() as folder:
        words = started_words(path, folder)
        assert os.listdir(folder) == ["bin"], (path, os.listdir(folder))
    after = {"megatron.sh": ["--data-path", "--tokenizer-model", "--save"], "deepspeed.sh": ["--data-path", "--load"]}
    for option in after.get(path.name, []):
        assert words[words.index(option) + 1] == operand(expected), (path, option)
    if path.name in ("vllm.sh", "tensorrt_llm.sh", "sglang.sh"):
        assert operand(expected) in words, path


def check(path):
    expected = (path.parent / "expected.txt").read_text()
    if path.suffix == ".json":
        assert json.loads(path.read_text())["train_batch_size"] == 64
    elif path.suffix == ".toml":
        found = tomllib.loads(path.read_text())
        assert found["training"]["dataset_path"] == expected and found["checkpoint"]["folder"] == expected, path
    elif path.suffix == ".py":
        check_python(path, expected)
    elif path.name.endswith("job.yaml"):
        check_job(path, expected)
    elif path.name == "maxtext.yml":
        found = yaml.safe_load(path.read_text())
        assert found["dataset_path"] == expected and isinstance(found["learning_rate"], float), path
    elif path.suffix == ".yml":
        assert isinstance(yaml.safe_load(path.read_text()), dict), path
    elif path.suffix == ".sh":
        check_script(path, expected)


def main():
    checked = 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*")):
        check(path)
        checked += 1
    assert checked > 300, checked
    print(checked, "files")


main()
