"""The training text of lintel-chat: written by hand as grammars, unfolded by seeded chance."""
