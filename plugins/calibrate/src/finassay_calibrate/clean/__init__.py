"""Clean deliveries: strategies over the whole grammar, built on the synthetic market, told in words, laid out in many ways."""
