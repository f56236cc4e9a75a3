"""The beginnings of an operation's `error` that checks go by."""

MALFORMED = "malformed: "  # the answer does not follow Kafka's protocol
REFUSED = "refused: "  # the request had to be refused, or was only validated, and it was refused
ACCEPTED = "accepted: "  # the request had to be refused, and its answer says that it happened
UNANSWERED = "unanswered: "  # the request had to be refused, and no answer says that it was

# Requests that not every target refuses (`sealed_run.STRICT_CONFIGS`), as they follow the words
# above.
SET_TO_NULL = "interval.ms set to null"
TWICE_IN_RESOURCE = "interval.ms twice in a resource"


def is_kafkas(error: str | None) -> bool:
    """Whether it is an error of Kafka's in an answer, by its name or as "error-<code>"; all other
    errors say what happened to a request or its connection."""
    return error is not None and (error.isupper() or error.startswith("error-"))
