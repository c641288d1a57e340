"""Write the generated pages, or compare them: `python -m docgen [--check]`. Runs at the root of the sources."""

from __future__ import annotations

import sys
from pathlib import Path

from docgen.errors import errors_page
from docgen.files import files_page
from docgen.metrics import metrics_page
from docgen.names import unknown_names
from docgen.rest import rest_page
from docgen.troubleshooting import troubleshooting_page
from twinlog.config.telling.generated import keep

REFERENCE = Path("docs/reference")


def main(arguments: list[str]) -> int:
    """Return 1 if a page is stale or a document names something that does not exist."""
    pages = {"errors.md": errors_page, "rest.md": rest_page, "metrics.md": metrics_page, "files.md": files_page}
    pages["troubleshooting.md"] = troubleshooting_page
    stale = keep({REFERENCE / name: page() for name, page in pages.items()}, "the code says", arguments)
    unknown = unknown_names(Path())
    for finding in unknown:
        sys.stderr.write(f"{finding}\n")
    return int(bool(stale or unknown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
