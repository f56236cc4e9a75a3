"""How the `error` of an operation begins, where a check goes by it."""

MALFORMED = "malformed: "  # what answered it is no answer of Kafka's protocol
REFUSED = "refused: "  # it asked for what must be refused, or only validated, and was
ACCEPTED = "accepted: "  # it asked for what must be refused, and was told that it happened
UNANSWERED = "unanswered: "  # it asked for what must be refused, and no answer says that it was

# What a request asked for, as the words above are followed by it, that not every target refuses
# (`sealed_run.STRICT_CONFIGS`).
SET_TO_NULL = "interval.ms set to null"
TWICE_IN_RESOURCE = "interval.ms twice in a resource"


def is_kafkas(error: str | None) -> bool:
    """Whether it is an error of Kafka's in an answer, by its name or as "error-<code>"; all others
    say what became of a request or its connection."""
    return error is not None and (error.isupper() or error.startswith("error-"))
