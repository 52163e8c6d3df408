"""Everything that uv is asked: resolutions, hashes of releases, environments to build."""
