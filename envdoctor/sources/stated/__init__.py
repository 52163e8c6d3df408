"""What people state: facts files, listings, environment reports, target profiles."""
