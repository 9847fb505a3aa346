"""What is kept of pictures in a library folder, and that nothing of it is lost."""
