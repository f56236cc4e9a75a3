"""The durability audit: what is on a node's disk at the moment when the node is believed.

At a moment (a topic was created, a replica moved, a broker stopped in good order) the nodes are
stopped cold, what their files say is copied, the power is cut, and what the disks hold is compared
with it. Then the nodes are started from exactly that disk, and asked for all that was acknowledged.

    copies.py       two copies of a disk, compared byte by byte
    next_start.py   what each file of a node is, as data; what a node made of a difference:
                    rebuilt, ignored, refused, lost, trusted
    questions.py    what is asked of nodes, and what must be answered; until a condition on the way
                    there is true
    moment.py       a moment, as a value, and the stage on which it is reached; metadata that is
                    set on the way there
    all_moments.py  all of them
    quorum_client.py, kafka_client.py  how controllers and brokers of either target are asked
    kafka_moments.py, all_moments.py  how moments are reached
    one_cut.py      one moment, from an empty disk to the answers
    matrix.py       many cuts as rows: file kind, moment, status, outcome, n of m; all that was
                    shown, for a terminal and as JSON
    matrix_page.py  the same on a page, with the bytes behind each cell
    auditing.py     all that the command does
"""
