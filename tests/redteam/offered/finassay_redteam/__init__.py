"""Hostile agents: their program tries to learn what is hidden and to disturb what it can reach, and tells what came of it."""
