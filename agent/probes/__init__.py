"""Probes: is a container alive, has it started, is it ready. Who asks, how, how often, and what the answers add up
to.
"""
