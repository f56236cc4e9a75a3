"""`kraft-chaos serve`: recorded runs in a browser of this machine. Nothing can be changed by it.

pages.py     the list, the history of a scenario, two runs beside each other; the runs below some
             directories, looked at again when their files change
server.py    HTTP on loopback: these pages, and the files of runs
"""
