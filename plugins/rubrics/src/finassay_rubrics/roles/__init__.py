"""Chat models in the roles that rules take by default: contextualizer, composer, global reviewer. Each proposes; code holds it to its bounds."""
