"""How far long work is: a bar with the time left on terminals and in notebooks, plain lines elsewhere."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

import rich.console
import rich.progress
import rich.progress_bar
import rich.table
import rich.text

from dpassay.core.progress import Notice, Say, share_of, silent

BAR = 24  # characters
PAUSE = 10.0  # seconds between plain lines
SETTLING = 5.0
"""Seconds until anything is said elsewhere than on terminals; what was done in them, such as finding kept runs again,
tells nothing of the time left."""


class Estimate:
    """The time that work has left, by the speed of what was done since the first seconds.

    Args:
        limit: seconds after which it ends by itself, None when it has no limit.
        clock: the time in seconds.
        kind: of time, in words where it is not that of clocks.
    """

    def __init__(self, limit: float | None = None, clock: Callable[[], float] = time.monotonic, kind: str = "") -> None:
        self._limit, self._clock, self._kind = limit, clock, kind
        self._begin = clock()
        self._origin: tuple[float, float] | None = None
        self._last: tuple[float, float] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds so far."""
        return self._clock() - self._begin

    def saw(self, share: float) -> None:
        """A share of the work is done."""
        if self._last is not None and share == self._last[1]:
            return
        self._last = (self.elapsed, share)
        if self._origin is None or self.elapsed < SETTLING or share < self._origin[1]:
            self._origin = self._last

    @property
    def share(self) -> float | None:
        """What is done of the work, or used of the time that it has; None where neither is known."""
        if self._last is not None:
            return min(1.0, self._last[1])
        return min(1.0, self.elapsed / self._limit) if self._limit else None

    @property
    def left(self) -> float | None:
        """Seconds left, None while nothing tells or where what was told is over."""
        rest = max(0.0, self._limit - self.elapsed) if self._limit else None
        if self._origin is None or self._last is None:
            return rest
        (begin, done), (now, share) = self._origin, self._last
        if share <= done:
            return None
        left = (now - begin) * (1 - share) / (share - done) - (self.elapsed - now)
        if left <= 0:
            return rest
        return left if rest is None else min(left, rest)

    def __str__(self) -> str:
        if self.left is None:
            return ""
        return f"{'at most' if self._limit else 'about'} {duration(self.left)}{self._kind} left"


def duration(seconds: float) -> str:
    """A rough length of time in words."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class Progress:
    """Shows on standard error, while its `with` block lasts, what long work says to `note`.

    On a terminal a bar; in a notebook the same as text; elsewhere a line every ten seconds, however silent the work.

    Args:
        task: what runs.
        limit: seconds after which it ends by itself; None when it has no limit.
        spent: seconds of the limit that are used, where they are of CPU time.
    """

    def __init__(self, task: str, limit: float | None = None, spent: Callable[[], float] | None = None) -> None:
        self._task, self._text, self._begin = task, "", time.monotonic()
        self._estimate = Estimate(limit) if spent is None else Estimate(limit, spent, " of CPU time")
        self._console = rich.console.Console(stderr=True)
        self._ended = threading.Event()
        self._lines = threading.Thread(target=self._tell, daemon=True)
        self._bar = rich.progress.Progress(
            rich.progress.SpinnerColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            _Drawn(self),
            rich.progress.TimeElapsedColumn(),
            _Told(self),
            console=self._console,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # so that results are printed above the bar, when both are seen
            disable=not self._console.is_terminal,
        )
        self._bar.add_task(task, total=None)

    def note(self, text: str) -> None:
        """The work advanced."""
        if isinstance(text, Notice):
            self._console.print(rich.text.Text(text), soft_wrap=True)
        else:
            self._text = text

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        else:
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._bar.stop()
        if self._lines.ident is not None:
            self._lines.join()

    @property
    def share(self) -> float | None:
        """What is done of the work, from 0 to 1; None where that is not known."""
        if (share := share_of(self._text)) is not None:
            self._estimate.saw(share)
        return self._estimate.share

    def line(self) -> str:
        """The last text, the share that is done and the time left."""
        share, left = self.share, str(self._estimate)
        known = ", ".join([*([f"{share:.0%}"] if share is not None else []), *([left] if left else [])])
        return f"{self._text or self._task}{f' ({known})' if known else ''}"

    def _tell(self) -> None:
        if self._ended.wait(SETTLING):
            return
        say, pause = (_cell(), 1.0) if self._console.is_jupyter else (_plain, PAUSE)
        while True:
            say(f"{time.monotonic() - self._begin:6.1f} s  {self.line()}")
            if self._ended.wait(pause):
                break
        if self._console.is_jupyter:
            say("")


def _plain(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it: that is no reason to stop the work
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _cell() -> Say:
    """Replaces a line below a notebook's cell; needs no widgets."""
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda line: handle.update({"text/plain": line}, raw=True)


class _Drawn(rich.progress.ProgressColumn):
    """The bar, which goes to and fro where no share is known."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: rich.progress.Task) -> rich.progress_bar.ProgressBar:
        share, now = self._progress.share, task.get_time()
        return rich.progress_bar.ProgressBar(1.0, share or 0.0, BAR, pulse=share is None, animation_time=now)


class _Told(rich.progress.ProgressColumn):
    """What is known, cut to the rest of the line."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(rich.table.Column(ratio=1, no_wrap=True, overflow="ellipsis"))
        self._progress = progress

    def render(self, task: rich.progress.Task) -> rich.text.Text:
        return rich.text.Text(self._progress.line())


@contextlib.contextmanager
def in_notebooks(task: str, limit: float | None = None, spent: Callable[[], float] | None = None) -> Iterator[Say]:
    """What a function that runs long gives to its work as `progress`: shown in a notebook, silent in programs."""
    if "ipykernel" not in sys.modules or not rich.console.Console().is_jupyter:
        yield silent
        return
    with Progress(task, limit, spent) as shown:
        yield shown.note
