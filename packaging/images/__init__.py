"""System images, built on the machine from Debian's static binaries, without a registry.

Imported as `images` (the folder is `packaging/images`). Knows files and archives only: importing an archive into a
runtime is the caller's business.
"""
