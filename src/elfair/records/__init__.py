"""Plain records, and files: JSON, TOML, tables, and text that is safe to show."""
