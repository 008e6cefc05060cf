"""Rules of the family `autotune`."""
