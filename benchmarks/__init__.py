"""Benchmarks: cases as data, run with hooke alone or side by side with a peer. See docs/guide/benchmarks.md."""
