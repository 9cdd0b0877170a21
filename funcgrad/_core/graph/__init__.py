"""Programs as data: the graph, how it prints, what makes two the same, and what simplifies them."""
