"""Running transforms: the tape and the derivatives, reverse and forward mode, batching and staging."""
