"""What the harness needs on a machine, and how to install it.

    shell.py            commands with their output in one log; needs as values
    docker_engine.py    the Docker engine: found, or installed and started (as root)
    images.py           names, inputs and builds of the images; the toxiproxy image: pulled, or
                        built from its Go module
    node_image.py       the node's wheels for the Python of the container; the base image: pulled,
                        or made with debootstrap
    kafka_image.py      Apache Kafka's image: a Java, and the jars of one release

`chaos.commands.examination` looks and changes nothing. `chaos.run.installation.prepare` installs
what is missing: the engine (as root), the images (pulled if a registry answers, else built here),
warm caches. If something cannot be installed, both say why, what to do, and what works without it.
"""
