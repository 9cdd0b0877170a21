"""The array interface of tracers."""
