"""Rules of the family `bounds`."""
