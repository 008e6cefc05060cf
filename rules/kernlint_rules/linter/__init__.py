"""Rules of the family `linter`."""
