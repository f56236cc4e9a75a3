"""Pages of `docs/reference/` whose end is generated; `pytest --rewrite` writes it."""

import pytest


def hold_page(config: pytest.Config, page: str, written_by: str, text: str) -> None:
    """Fail unless the page is `text` below its mark, which names the test that writes it."""
    path = config.rootpath / "docs" / "reference" / page
    mark = f"<!-- From here on by `pytest --rewrite {written_by}` -->\n"
    head, found, rest = path.read_text().partition(mark)
    assert found, f"{page} has lost its mark: {mark}"
    if config.getoption("--rewrite"):
        path.write_text(f"{head}{mark}\n{text}")
    else:
        assert rest == f"\n{text}", f"{page} is not as the code says; see --rewrite"
