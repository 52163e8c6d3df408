"""What is installed and what it runs on: interpreters, site-packages, images, hardware."""
