"""Where pods come from: the API server and a folder of manifests, merged into one stream."""
