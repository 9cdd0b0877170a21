"""Programs as data: the graph, its text, the equality of graphs, and simplification."""
