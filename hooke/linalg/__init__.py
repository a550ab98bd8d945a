"""Systems of equations that consist of small blocks."""
