"""Settings for the whole test suite."""

from importlib.util import find_spec

import pytest
from hypothesis import settings

# No deadline: a loaded machine is not a failing test. Derandomised: a run can be repeated.
settings.register_profile("goodstein", deadline=None, derandomize=True)
settings.load_profile("goodstein")


def pytest_collection_modifyitems(items):
    if find_spec("torch") is None:
        skip = pytest.mark.skip(reason="PyTorch is not installed (make test-all installs it)")
        for item in items:
            if item.get_closest_marker("torch"):
                item.add_marker(skip)
