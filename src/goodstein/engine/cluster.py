"""A Dask client as a place to work; nothing else in the library calls Dask.

The data are sent to every worker once, before the shares, so that the death of one loses nothing: the
scheduler gives its shares to others, and a worker that comes late has the data from its neighbours. Where all
workers that held them are gone the data are sent again. Results are put together by their places, so that the
bits are those of one thread.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from goodstein.engine.shares import Pool, unsendable
from goodstein.errors import InputError, ResourceError

PATIENCE = 60.0
"""Seconds to wait for the first worker."""


class Cluster(Pool):
    """The workers of a Dask client."""

    seconds = 10.0  # nobody waits for a share that was cancelled
    holds = True

    def __init__(self, client: Any) -> None:
        if getattr(client, "asynchronous", False):
            reason = "is an asynchronous Dask client, in whose event loop nothing may wait."
            raise _refused(
                reason, "Make it without asynchronous=True, and call the test from another thread."
            )
        self._client = client
        self._require_open()
        # A task is a function of its arguments, yet two calls may bring other data of the same name.
        executor: Executor = client.get_executor(pure=False)
        super().__init__(executor)

    @property
    def hands(self) -> int:
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def keep(self, thing: Any) -> Any:
        """A future of the thing, which every worker holds."""
        self._require_open()
        self._await()
        try:
            # Not by a hash of the content: another call may let go of the same data.
            return self._client.scatter(thing, broadcast=True, hash=False)
        except (OSError, ResourceError):
            raise
        except Exception as error:
            raise unsendable(error) from error

    def again(self, thing: Any) -> Any:
        return self.keep(thing)

    def _require_open(self) -> None:
        if self._client.status in ("closed", "closing"):
            remedy = "Call inside its `with` block, or make a new one."
            raise _refused("is a Dask client that was closed.", remedy)

    def _await(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ResourceError(
                f"`workers` is a Dask client whose cluster has had no worker for {PATIENCE:.0f} s.",
                remedy="Start some, for example cluster.scale(2), and wait: client.wait_for_workers(1).",
            ) from error


def _refused(reason: str, remedy: str) -> InputError:
    return InputError(reason, argument="workers", predicate=True, remedy=remedy)
