"""The node agent: it makes one machine run the pods that the API server (and a folder of manifests) want on it."""
