"""What the harness needs on a machine, and how to install it.

`chaos.commands.doctor_command` looks and changes nothing. `install.prepare()` installs what is
missing: the
engine (as root), the images (pulled where a registry answers, else built here), warm caches. For
what cannot be installed, both say why, what to do, and what works without it.
"""
