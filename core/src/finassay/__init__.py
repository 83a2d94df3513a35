"""finassay tells whether an agent's financial work can be trusted. The contract for plugins is `finassay.api`."""
