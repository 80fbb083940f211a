"""Merges sources that cannot disturb each other into fewer translation units, so that their headers are read once.

Usage: merge_sources.py ROOT FOLDER SOURCE...    (sources of one target; prints what to compile instead, one a line)

Each merged file in FOLDER first includes what its members include, then the members. Two sources share one only if no
name that the one keeps to itself (in an anonymous namespace, or by `using`) occurs anywhere in the other, and if they
open the same namespaces and use the same foreign libraries. A source with directives of its own (#if, #define) or with settings of its own in CMake stays alone.
"""

import pathlib
import re
import sys

MOST = 8  # members; more save little, and the last core to finish would be waited for longer
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\S")
DIRECTIVE = re.compile(r"^\s*#\s*(?!include\b)", re.M)
INCLUDE = re.compile(r"^#include .*$", re.M)
SETTING = re.compile(r"\bSEXTANT_(?!SOURCE_DIR\b)[A-Z_]+|<mpi\.h>")
HIDDEN = re.compile(r"(?<![\w.:>])quoted\(")  # std::quoted is found by its argument wherever <iomanip> is included


class Source:
    def __init__(self, path, root):
        self.path = path
        text = pathlib.Path(path).read_text()
        self.alone = any(pattern.search(text) for pattern in (DIRECTIVE, SETTING, HIDDEN))
        self.includes = INCLUDE.findall(text)
        code = NOISE.sub(" ", INCLUDE.sub("", text))
        # Which foreign libraries it sees: their functions would be found by the types of arguments elsewhere, too.
        foreign = re.findall(r"<(?!fmt/)\w[\w+]*/", " ".join(self.includes)) + re.findall(r"_(?:json|toml)\.", path)
        self.kind = frozenset(foreign + re.findall(r"using namespace [\w:]+;", code))
        self.usings = set(re.findall(r"^using [^;]*;", code, re.M))
        self.has_hidden_state = bool(re.search(r"^(?:struct|class) \w+::\w+", code, re.M))
        self.words, self.looked_up = used_names(code)
        for header in re.findall(r'"(tests/[\w/]+\.hpp)"', " ".join(self.includes)):  # written for some tests, not for all
            self.looked_up.update(re.findall(r"\b(\w+)\(", NOISE.sub(" ", (root / header).read_text())))
        self.words |= self.looked_up
        self.kept = kept_names(code)

    def disturbs(self, other):
        shared = {name for line in self.usings & other.usings for name in re.findall(r"\w+", line)}
        # A local variable may be called as another's function is; a function that is looked up must not be found twice.
        return any(
            name not in shared and (name in other.kept or name in (other.looked_up if what == "function" else other.words))
            for name, what in self.kept.items()
        )


def used_names(code):
    """Names that stand alone, not members and not std::what: all of them, and those that no variable here has."""
    every = re.findall(r"(?<!\.)(?<!->)(?<!std::)(?<!fmt::)\b([A-Za-z_]\w*)\b(?!\s*::)", code)
    called = re.findall(r"(?<!\.)(?<!->)(?<!std::)(?<!fmt::)\b([A-Za-z_]\w*)\s*\(", code)
    variables = re.findall(r"[\w&>*\]]\s+([A-Za-z_]\w*)\s*[=;,){:\]]", re.sub(r"\breturn\b", "(", code))
    return set(every), (set(every) - set(variables)) | set(called)


def kept_names(code):
    """Names declared at namespace scope in anonymous namespaces, those of unscoped enumerations there, and aliases."""
    names = {alias or last: "alias" for alias, last in re.findall(r"^using (?:(\w+) =|(?!namespace)[\w:]*?(\w+);)", code, re.M)}
    scopes = []  # of each open brace: "named", "anonymous", "enum" or "inner"
    statement = []
    inside = 0  # parentheses and brackets
    tokens = [";", *TOKEN.findall(code), ";"]
    for at, token in enumerate(tokens):
        outside = all(scope in ("named", "anonymous") for scope in scopes)
        if token in "([":
            inside += 1
        elif token in ")]":
            inside -= 1
        elif token == "{":
            if outside and statement[:1] == ["namespace"]:
                scopes.append("named" if len(statement) > 1 else "anonymous")
                statement = []
            elif outside and statement[:1] == ["enum"] and statement[1:2] not in (["class"], ["struct"]):
                scopes.append("enum")
            else:
                scopes.append("inner")
        elif token == "}":
            scopes.pop()
            if scopes.count("inner") == 0 and tokens[at + 1] not in (";", ",", ")"):
                statement = []
        elif outside and inside == 0 and token == ";":
            statement = []
        elif token.isidentifier() and scopes[-1:] == ["enum"] and "anonymous" in scopes:
            names[token] = "enumerator"
        elif outside and inside == 0:
            statement.append(token)
            if token.isidentifier() and statement[0] != "using" and ("anonymous" in scopes or "static" in statement):
                if tokens[at + 1] == "(":
                    names.setdefault(token, "function")
                elif tokens[at + 1] in "{[=;:," or tokens[at - 1] in ("struct", "class", "enum", "union"):
                    names[token] = "other"
    return {name: what for name, what in names.items() if name not in ("class", "final", "int", "bool", "char")}


def groups_of(sources):
    """First fit, in the order of the list: an edit moves few sources to another file."""
    groups = []
    for source in sources:
        for group in groups:
            if len(group) < MOST and group[0].kind == source.kind and not any(
                source.disturbs(member) or member.disturbs(source) for member in group
            ):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def merged_text(group):
    includes = list(dict.fromkeys(line for member in group for line in member.includes))
    if any(member.has_hidden_state for member in group):  # GCC warns of it in whatever is included
        includes.insert(0, '#pragma GCC diagnostic ignored "-Wsubobject-linkage"')
    return "\n".join(includes + [f'#include "{member.path}"' for member in group]) + "\n"


def main(root, folder, *paths):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sources = [Source(path, pathlib.Path(root)) for path in paths]
    for source in sources:
        if source.alone:
            print(source.path)
    written = set()
    for number, group in enumerate(groups_of([source for source in sources if not source.alone])):
        if len(group) == 1:
            print(group[0].path)
            continue
        file = folder / f"merged_{number}.cpp"
        text = merged_text(group).replace(f'#include "{root}/', '#include "')
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        written.add(file)
        print(file)
    for file in set(folder.glob("merged_*.cpp")) - written:
        file.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
