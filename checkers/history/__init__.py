"""What a run leaves behind, as checks and reports read it. The schema's reader defines it."""
