"""Every rule of English, below everything that reads sentences."""
