"""What all of NumPy's surface stands on: conversion, dispatch, axes, and plain values."""
