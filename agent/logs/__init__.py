"""Container logs on disk: reading them as `kubectl logs` wants them, following them over rotations, rotating them.

records.py    the format of a record (pure)
options.py    what a reader wants (pure)
generations.py  the files of one log: the one being written and those rotated away
reading.py    records out of files
following.py  and on, while they are written
rotating.py   cutting logs that have grown too large
"""
