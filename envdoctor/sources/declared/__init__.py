"""What files declare that is to be installed: requirements, manifests, locks."""
