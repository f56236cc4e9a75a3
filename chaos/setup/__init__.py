"""What the harness needs of a machine, and how to bring it there.

`chaos.examination` looks and changes nothing. `install.prepare()` brings up what is missing: the
engine (where root may install one), the images (pulled where a registry answers, built on the spot
otherwise), warm caches. Both say of what cannot be had why, how to mend it, and what works without.
"""
