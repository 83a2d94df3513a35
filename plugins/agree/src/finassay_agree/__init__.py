"""How far judges agree: with each other, with themselves, with people."""
