"""A cluster to play with: `up`, `inject`, `heal`, `down`."""
