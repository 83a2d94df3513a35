"""A seeded synthetic market. Nothing in it is data of a real company, whatever its ticker."""
