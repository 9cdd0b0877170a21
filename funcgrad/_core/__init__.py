"""The machinery that knows no primitive by name: avals, primitives, traces, the tape and the graph."""
