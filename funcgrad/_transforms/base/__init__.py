"""What every transform stands on: arguments, staged bodies, one way to record."""
