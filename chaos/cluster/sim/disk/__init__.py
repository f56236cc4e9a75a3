"""The simulated disk, which forgets what was not synced.

disk.py        a node's disk, with the harness's faults and canary
filesystem.py  a page cache over the metadata, which loses data as ext4 does
journal.py     a file system's metadata, and its journal; steps and failures of disks
power_cuts.py  power cuts with evidence; when a fault hits; bounded waits
"""
