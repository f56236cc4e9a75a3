"""Checks of the run itself: is there enough evidence, and did the cluster go on?

evidence_complete.py   all planned evidence is there
sufficiency.py         clients got through, faults bit, the final reads succeeded
demand.py              the clients' part of that, in each phase
silence.py             times in which clients did nothing
serving.py             undisturbed operations succeed
serving_while_hurt.py  nodes that a fault does not hit serve on
answers.py             nodes answer by the protocol, and refuse wrong requests
calm.py                undisturbed operations are quick
answered_at_once.py    waiting requests are answered once they can be
late_answers.py        P18: brokers' answers are not long out of date
let_in.py              P18: an undisturbed broker is unfenced
silent_brokers.py      P18: a broker that is off is fenced
kept_running.py        no process ended by itself
complaints.py          two programs in one quorum: neither logs an error about the other
sides_led.py           and each of them led, and served brokers
recovery.py            a healed cluster goes on
machinery.py           the harness's own parts go on
change_answers.py      V11: changes of voters come to an end
expectation.py         the expected result of a run, by check, anomaly and number
statistics.py          the numbers beside a verdict
"""
