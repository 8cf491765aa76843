import pytest
from host import Host


@pytest.fixture(scope="module")
def host(preload, tmp_path_factory, request):
    return Host(preload, tmp_path_factory.mktemp(request.module.__name__))
