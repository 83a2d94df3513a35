"""Where the settings of a run come from, merged, each with its origin."""
