"""Writes the modules of ``api`` that declare Kubernetes' types, one per group-version. Build-time only: nothing
imports it at run time.

``python -m api.generator`` needs kubernetes-validate (for the definitions of 1.36) and ruff (for the last touch), and
rewrites the generated modules and the resource table in place. What those definitions do not say is kept in
``facts/``. The other way round the generator knows nothing that is said elsewhere: names, types, list types and merge
keys are read, never repeated.
"""
