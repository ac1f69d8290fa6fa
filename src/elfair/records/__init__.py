"""Plain records, and the files that hold them: JSON, TOML, and text that is safe to show."""
