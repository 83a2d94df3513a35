"""The conformance kit and the fakes, shipped for plugin authors. Light to import: nothing here needs pytest until it is used in a test."""
