"""Rules of the family `padding`: what the lanes outside a mask hold when lanes are combined."""
