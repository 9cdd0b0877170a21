"""The shapes of the parameters of a ResNet-50."""


def resnet50_shapes() -> list[tuple[int, ...]]:
    """Return the shapes of its 161 parameters, 25.6 million numbers."""
    shapes: list[tuple[int, ...]] = [(64, 3, 7, 7), (64,), (64,)]
    width = 64
    for planes, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            convolutions = [(planes, width, 1, 1), (planes, planes, 3, 3), (4 * planes, planes, 1, 1)]
            convolutions += [(4 * planes, width, 1, 1)] * (block == 0)
            for shape in convolutions:
                shapes += [shape, shape[:1], shape[:1]]
            width = 4 * planes
    return [*shapes, (1000, 2048), (1000,)]
