"""How far the delivered strategy is the one that the belief voices: in words, and by what the trades show (spec D.0.4, D.2)."""
