"""The hook `command`: a program of the operator. Exit code 0 means that clients are redirected.

It gets what the switch knows as TWINLOG_ACTIVE, TWINLOG_FORMER, TWINLOG_BOOTSTRAP, TWINLOG_GENERATION, TWINLOG_LINK.
"""

from __future__ import annotations

import logging
import os
import subprocess
from typing import Final

from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction

log = logging.getLogger("twinlog.redirect")

_SHOWN: Final = 500


def call(hook: Redirect, direction: Direction) -> str:
    """Run it. Blocking."""
    words = [direction.fill(word) for word in hook.command]
    env = os.environ | {f"TWINLOG_{name.upper()}": value for name, value in direction.words().items()}
    try:
        done = subprocess.run(
            words, env=env, capture_output=True, timeout=hook.timeout_seconds, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise RedirectFailed(hook.name, f"{words[0]} did not end within {hook.timeout_seconds} s") from None
    except OSError as error:
        raise RedirectFailed(hook.name, f"{words[0]}: {error.strerror}") from None
    if done.returncode:
        # Everybody who may look reads why a switch stopped; what the program printed may hold what it was given (R12).
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-_SHOWN:]
        log.warning("hook %s: %s ended with %d: %s", hook.name, words[0], done.returncode, said)
        raise RedirectFailed(hook.name, f"{words[0]} ended with {done.returncode}; the log has what it printed")
    return f"{words[0]} ended well"
