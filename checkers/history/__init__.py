"""What a run leaves behind, as checks and reports read it. The reader of the schema defines it."""
