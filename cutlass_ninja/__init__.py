"""cutlass-ninja: YAML kernel manifests -> CUTLASS sources -> build.ninja -> profilers in a cache keyed by content."""

__version__ = "0.1.0"
