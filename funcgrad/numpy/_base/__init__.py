"""The base of the NumPy room: conversion, dispatch, axes, and plain values."""
