"""Errors in the dialect of the API that was called: /v1 has code, message and remedy, all others are as in Connect."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi.responses import JSONResponse
from pydantic import BaseModel

_OWN = "/v1"


class Problem(BaseModel):
    """An error of /v1: a stable code, a sentence, the way out."""

    code: str
    message: str
    remedy: str = ""


def problem(
    status: int, code: str, message: str, remedy: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as /v1 tells it."""
    return JSONResponse({"code": code, "message": message, "remedy": remedy}, status, dict(headers or {}))


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as Connect tells it."""
    return JSONResponse({"error_code": status, "message": message}, status, dict(headers or {}))


def refused(  # noqa: PLR0917  the five of `problem`, and the path
    path: str, status: int, code: str, message: str, remedy: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error in the form of the API that the path belongs to. Connect has no remedy: there `message` must do."""
    if path == _OWN or path.startswith(f"{_OWN}/"):
        return problem(status, code, message, remedy, headers)
    return refusal(status, message, headers)
