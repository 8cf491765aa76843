import pytest
from tracing import HERE, PLAYER, build


@pytest.fixture(scope="session")
def calls(tmp_path_factory):
    return build(tmp_path_factory.mktemp("calls") / "calls", "cc", "-O1", "-fno-builtin", "-rdynamic", "-D_GNU_SOURCE",
                 HERE / "calls.c")


@pytest.fixture(scope="session")
def player(tmp_path_factory):
    words = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-builtin"]
    return build(tmp_path_factory.mktemp("player") / "play", *words, *PLAYER)


@pytest.fixture(scope="session")
def strict(tmp_path_factory):
    """The player under AddressSanitizer, which ends it at any wrong free."""
    words = ["cc", "-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    return build(tmp_path_factory.mktemp("strict") / "play", *words, *PLAYER)
