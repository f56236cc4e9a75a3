"""Checks of the run itself: is there enough to judge by, and did the cluster go on?

evidence_complete.py   all that was planned to be left is there
sufficiency.py         clients got through, faults bit, the final reads succeeded
demand.py              the part of that which clients were to do, in each phase
silence.py             the part of that in which clients hang
serving.py             what nobody disturbs is done
serving_while_hurt.py  those that a fault leaves in peace serve on
answers.py             nodes answer by the protocol, and refuse what is wrong
calm.py                what nobody disturbs is quick
answered_at_once.py    what waits for something is answered when it is there
late_answers.py        P18: what was over long before is told no more
let_in.py              P18: a broker that is left in peace is unfenced
silent_brokers.py      P18: one that is off is fenced
kept_running.py        no process ended by itself
complaints.py          two programs in one quorum: neither logs an error of the other
sides_led.py           and each of them led, and served brokers
recovery.py            a healed cluster goes on
machinery.py           what the harness has put beside the nodes goes on
change_answers.py      V11: changes of voters come to an end
expectation.py         what is expected of a run, by check, anomaly and number
statistics.py          the numbers beside a verdict
"""
