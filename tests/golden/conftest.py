from pathlib import Path

import pytest


@pytest.fixture
def root():
    return Path(__file__).resolve().parents[2]


@pytest.fixture
def library(preload):
    return preload.library


@pytest.fixture
def lane(preload):
    return preload.lane


@pytest.fixture
def build_directory(root, preload):
    return root / "build" / preload.lane
