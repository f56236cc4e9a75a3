"""What a result of a check is, beside its verdict."""

from checkers.verdict import CheckResult, Verdict


def saw_nothing(result: CheckResult | None) -> bool:
    """Whether a check found nothing to look at: it praises nothing, and accuses nobody."""
    assert result is not None
    assert result.verdict in (Verdict.VALID, Verdict.UNKNOWN)
    said = result.message.startswith(("nothing to judge: ", "looked at no "))
    return said and result.looked_at == 0
