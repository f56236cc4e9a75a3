"""Checks of the run itself: is there enough evidence, and did the cluster go on?

sufficiency.py         all planned evidence is there; clients got through, faults bit, the final
                       reads succeeded
silence.py             the clients' part of that, in each phase; times in which clients did nothing
serving.py             undisturbed operations succeed
serving_while_hurt.py  nodes that a fault does not hit serve on
answers.py             nodes answer by the protocol, and refuse wrong requests
recovery.py            undisturbed operations are quick; a healed cluster goes on; V11: changes of
                       voters come to an end
answered_at_once.py    waiting requests are answered once they can be
late_answers.py        P18: brokers' answers are not long out of date
silent_brokers.py      P18: an undisturbed broker is unfenced; P18: a broker that is off is fenced
complaints.py          no process ended by itself; two programs in one quorum: neither logs an
                       error about the other
sides_led.py           and each of them led, and served brokers
statistics.py          the harness's own parts go on; the numbers beside a verdict
expectation.py         the expected result of a run, by check, anomaly and number
"""
