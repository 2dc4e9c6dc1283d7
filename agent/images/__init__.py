"""Having a container's image here: present already, or pulled, or not to be had.

`ImagePuller.ensure` is all that the rest of the agent calls. It knows policies, back-off, credentials and the words
users read; it does not know what the image is for.
"""
