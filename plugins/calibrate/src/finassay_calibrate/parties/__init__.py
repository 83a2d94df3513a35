"""Judges and simulators under attack, through their protocols."""
