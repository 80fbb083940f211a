"""Which sources cmake/merge_sources.py compiles together: merge_sources_test.py SOURCE_FOLDER"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

script = pathlib.Path(sys.argv[1]) / "cmake" / "merge_sources.py"


def compiled(*texts):
    """What is compiled for sources of these texts, each by the members' numbers."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"source_{number}.cpp" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        command = [sys.executable, script, folder, pathlib.Path(folder) / "merged", *paths]
        files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return sorted(
            [number for number, path in enumerate(paths) if str(path) == file or path.name in pathlib.Path(file).read_text()]
            for file in files
        )


class Merged(unittest.TestCase):
    def test_sources_with_different_names_are_compiled_together(self):
        one = '#include "a.hpp"\nnamespace n {\nnamespace {\nint first(int row) { return row; }\n}\nint a() { return first(1); }\n}\n'
        two = '#include "b.hpp"\nnamespace n {\nnamespace {\nint second(int row) { return row; }\n}\nint b() { return second(1); }\n}\n'
        self.assertEqual(compiled(one, two), [[0, 1]])

    def test_one_name_in_two_anonymous_namespaces_keeps_sources_apart(self):
        one = "namespace {\nint row(int x) { return x; }\n}\nint a() { return row(1); }\n"
        two = "namespace {\nstruct row {};\n}\nint b() { return sizeof(row); }\n"
        self.assertEqual(compiled(one, two), [[0], [1]])

    def test_a_call_of_what_another_keeps_to_itself_keeps_sources_apart(self):
        kept = "namespace {\nint row(int x) { return x; }\n}\n"
        self.assertEqual(compiled(kept, "int b() { return row(1); }\n"), [[0], [1]])
        self.assertEqual(compiled(kept, "int b(int first) {\n    int row = first;\n    return row;\n}\n"), [[0, 1]])
        self.assertEqual(compiled(kept, "int b(Table t) { return t.row(1) + std::row(2); } // row(3)\n"), [[0, 1]])

    def test_a_constant_or_enumerator_hides_no_local_variable_of_another(self):
        local = "int b(int first) {\n    int size = first;\n    return size;\n}\n"
        self.assertEqual(compiled("namespace {\nconstexpr int size = 3;\n}\n", local), [[0], [1]])
        self.assertEqual(compiled("namespace {\nenum { number, size };\n}\n", local), [[0], [1]])
        self.assertEqual(compiled("namespace {\nenum class Part { number, size };\n}\n", local), [[0, 1]])

    def test_aliases_that_agree_are_shared(self):
        one = "using Json = nlohmann::json;\nint a(Json);\n"
        self.assertEqual(compiled(one, "using Json = nlohmann::json;\nint b(Json);\n"), [[0, 1]])
        self.assertEqual(compiled(one, "using Json = nlohmann::ordered_json;\nint b(Json);\n"), [[0], [1]])

    def test_directives_settings_and_foreign_libraries_keep_sources_apart(self):
        plain = "int a();\n"
        self.assertEqual(compiled(plain, "#ifdef HAS_IT\nint b();\n#endif\n"), [[0], [1]])
        self.assertEqual(compiled(plain, "char const* b() { return SEXTANT_VERSION; }\n"), [[0], [1]])
        self.assertEqual(compiled(plain, "#include <CLI/App.hpp>\nint b();\n"), [[0], [1]])
        self.assertEqual(compiled(plain, "#include <fmt/format.h>\nint b();\n"), [[0, 1]])

    def test_no_more_than_eight_are_compiled_together(self):
        self.assertEqual(compiled(*[f"int f{number}();\n" for number in range(9)]), [list(range(8)), [8]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
