"""The durability audit: what is on the disk of a node when clients rely on its answers.

At a moment (a topic was created, a replica moved, a broker stopped in good order) the nodes are
stopped cold, their files are copied as they read them, the power is cut, and the contents of the
disks are compared with the copies. Then the nodes are started from exactly these disks, and asked
for all that was acknowledged.

    auditing.py       `kraft-chaos audit`: all moments of a target, and their results
    moment.py         a moment as a value, and the stage on which it is reached; questions to nodes,
                      and the answers that they must give
    all_moments.py    all moments, and how our own node reaches them
    kafka_moments.py  how clusters with brokers reach them
    quorum_client.py  a client of the controllers of either target
    kafka_client.py   a client of the brokers of either target
    one_cut.py        one power cut, from an empty disk to the answers
    next_start.py     the kinds of files, and what a node did with a difference at its start; two
                      copies of a disk, compared byte by byte
    matrix.py         many cuts as rows of a table, for a terminal and as JSON
    matrix_page.py    the same on a page, with the bytes behind each cell
"""
