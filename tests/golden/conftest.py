import pytest

from conftest import ROOT


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def library(preload):
    return preload.library


@pytest.fixture
def lane(preload):
    return preload.lane


@pytest.fixture
def build_directory(preload):
    return ROOT / "build" / preload.lane
