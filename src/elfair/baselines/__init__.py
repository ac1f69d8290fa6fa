"""The methods that the paper compares with, and ELF itself, behind one small protocol."""
