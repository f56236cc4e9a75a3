"""Checks of the run itself: is there enough evidence, and did the cluster go on?

sufficiency.py         enough was done and seen; all planned evidence is there
silence.py             clients went on during the faults and after the cures
serving.py             undisturbed operations succeed
serving_during_faults.py  nodes that a fault does not hit serve on
answers.py             nodes answer by the protocol, and refuse wrong requests
answered_at_once.py    waiting requests are answered once they can be
recovery.py            a healed cluster goes on, and is quick; V11: changes of voters end
late_answers.py        P18: brokers' answers are not long out of date
whole_isrs.py          P18: every ISR is whole again in calm
silent_brokers.py      P18: a silent broker is fenced, and an undisturbed one unfenced
complaints.py          no process ended by itself; two programs in a quorum do not complain
sides_led.py           of two programs in a quorum, each led and served brokers
statistics.py          the numbers beside a verdict; failures of the harness's own parts
expectation.py         the expected result of a run, by check, anomaly and number
"""
