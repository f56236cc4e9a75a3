"""The load of tests that are not about load: clients without a rate take all the machine has."""

GENTLY = ("--concurrency", "5", "--rate", "50")
