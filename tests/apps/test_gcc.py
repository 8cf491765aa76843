import subprocess

import pytest
from host import children, require, wait_until


def source():
    """A source with enough functions, loops, switches and structs that the optimiser needs more than 70 MiB."""
    yield "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
    for n in range(250):
        cases = "".join(f"case {i}: x += s->f{i % 9} * {n + i}u; break;\n" for i in range(12))
        fields = "".join(f"uint32_t f{i};" for i in range(9))
        yield f"struct s{n} {{ {fields} char name[{n % 60 + 4}]; }};\n"
        yield f"uint32_t f{n}(struct s{n} *s, uint32_t x) {{\n"
        yield f"for (uint32_t i = 0; i < {n % 17 + 3}; i++) {{ switch ((x ^ i) % 13) {{\n"
        yield f"{cases}default: s->f0 ^= x; }} }}\n"
        yield 'snprintf(s->name, sizeof s->name, "%u", x); return x + (uint32_t)strlen(s->name)'
        yield f" + f{n - 1}((void *)s, x);\n}}\n" if n else ";\n}\n"


@pytest.fixture(scope="session")
def text():
    return "".join(source()).encode()


@pytest.fixture(scope="session")
def plain_object(text, tmp_path_factory):
    require("gcc", "gcc")
    target = tmp_path_factory.mktemp("plain") / "plain.o"
    subprocess.run(["gcc", "-O2", "-c", "-x", "c", "-", "-o", target], input=text, check=True)
    return target.read_bytes()


def test_object_is_that_of_the_plain_compiler(host, text, plain_object):
    target = host.folder / "hz3.o"
    command = [require("gcc", "gcc"), "-O2", "-c", "-x", "c", "-", "-o", target]
    with subprocess.Popen(command, env=host.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as compiler:
        compiling = wait_until(lambda: children(compiler.pid), "cc1")
        host.assert_on_hz3(compiling[0])
        _, errors = compiler.communicate(text)
    assert compiler.returncode == 0 and errors == b""
    assert target.read_bytes() == plain_object
