"""Names that two sources of one target define in anonymous namespaces, which a unity build (LOCUS_UNITY) takes for one.

Read from the text as clang-format writes it: what is defined begins in the first column. Overloads, which differ in the
types of their parameters, do not clash. Constants, types and functions are seen; what else clashes, the compiler says.
"""
import collections
import pathlib
import re

TYPE = re.compile(r"(?:struct|class|enum class|enum) (\w+)(?! *;)\b[^;]*$")
CONSTANT = re.compile(r"\b(k[A-Z]\w*)\s*(?:\[\w*\])*\s*(?:=|\{)")
FUNCTION = re.compile(r"[\w:<>,&*\[\] ]*[\w>&*\]] ?[&*]?\b(\w+)\(")
TARGET = re.compile(r"^locus_\w*(?:library|executable|test)\((\w+)([^)]*)\)", re.M)
ALONE = re.compile(r"^locus_alone\(([^)]*)\)", re.M)


def parameters(text):
    """The lists of types that a call may have, the longest first: those between the first bracket of `text` and its
    partner, and without what has a default. A value and a reference to a constant are called alike."""
    depth, out = 0, ""
    for c in text[text.index("("):]:
        depth += (c in "(<{") - (c in ")>}")
        if depth == 0:
            break
        out += c if depth == 1 or c not in "," else ";"
    each = [one.strip() for one in out[1:].split(",")]
    types = []
    for one in each:
        one = re.sub(r"\s*=.*", "", one)
        one = re.sub(r"(?<=[&*> ])\w+$", "", one).strip() if " " in one or "&" in one else one
        types.append(re.sub(r"^const (.*)&$", r"\1", one).strip())
    least = sum("=" not in one for one in each)
    return [", ".join(types[:n]) for n in range(len(types), least - 1, -1)]


def private_names(text):
    """{what: line} of the definitions in anonymous namespaces; functions with the types of their parameters."""
    out, inside, raw = {}, False, False
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if raw:
            raw = not re.search(r'\)\w*"', line)
            continue
        raw = bool(re.search(r'R"\w*\((?!.*\)\w*")', line))
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif not inside or not re.match(r"(?!template|using |namespace )[A-Za-z[]", line):
            continue
        elif match := TYPE.match(line):
            out.setdefault(match[1], i + 1)
        elif re.match(r"(?:static )?(?:constexpr|const)\b(?!.*\) \{$)", line) and CONSTANT.search(line):
            for name in CONSTANT.findall(line):
                out.setdefault(name, i + 1)
        elif (match := FUNCTION.match(line)) and not re.match(r"(?:TEST\w*|INSTANTIATE\w+|LOCUS_\w+)\b", line):
            whole = " ".join(one.strip() for one in lines[i:i + 6])[match.end() - 1:]
            for types in parameters(whole):
                out.setdefault(f"{match[1]}({types})", i + 1)
    return out


def targets(names, read):
    """{(folder of the list, target): sources} as the lists of sources name them; what a list does not spell out belongs to
    its target with a variable."""
    lists = {str(pathlib.PurePath(name).parent): read(name) for name in names if name.endswith("CMakeLists.txt")}
    out = collections.defaultdict(list)
    for name in names:
        if not name.endswith(".cc"):
            continue
        folder = next((str(p) for p in pathlib.PurePath(name).parents if str(p) in lists), None)
        if folder is None or "/drill/" in name:
            continue
        file = str(pathlib.PurePath(name).relative_to(folder))
        if any(file in match[1].split() for match in ALONE.finditer(lists[folder])):
            continue
        made = list(TARGET.finditer(lists[folder]))
        spelled = [match[1] for match in made if file in match[2].split()]
        for target in spelled or [match[1] for match in made if "${" in match[2]][:1]:
            out[folder, target].append(name)
    return out


def clashes(names, read):
    """(file, line, what is wrong) for every second definition."""
    for (_, target), sources in sorted(targets(names, read).items()):
        first, said = {}, set()
        for source in sorted(sources):
            for what, line in private_names(read(source)).items():
                if first.setdefault(what, source) != source and (source, line) not in said:
                    said.add((source, line))
                    where = f"an anonymous namespace of {first[what]}, too, of the same target {target}"
                    yield source, line, f"{what} is in {where}: share it, or name it more precisely"


def self_test():
    """What is not noticed of planted offences, or None."""
    tree = {
        "a/CMakeLists.txt": "locus_alone(d.cc)\nlocus_library(a SRCS\n  b.cc\n  c.cc\n  d.cc\n  DEPS x)\nlocus_test(other SRCS e.cc)\n",
        "a/b.cc": "// b\nnamespace {\n\nconstexpr int kA = 1, kB = 2;\nstruct Settings {\n};\nint f(int x, const T& y = {}) {\n}\n\n}  // namespace\nint shared();\n",
        "a/c.cc": "// c\nnamespace {\n\nconstexpr double kB = 2;\nint f(const char* x) {\n}\nint f(int z, T other) {\n}\nint f(int z) {\n}\n\n}  // namespace\nstruct Settings {\n};\n",
    }
    tree["a/d.cc"] = tree["a/e.cc"] = tree["a/b.cc"]
    found = [(file, line) for file, line, _ in clashes(list(tree), tree.get)]
    return None if found == [("a/c.cc", 4), ("a/c.cc", 7), ("a/c.cc", 9)] else f"private names: {found}"
