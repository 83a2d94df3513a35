"""Observers: plugins that are told what happens, or asked for additions. Taking one away never changes a grade."""
