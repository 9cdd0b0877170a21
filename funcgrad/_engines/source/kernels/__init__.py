"""Parts of programs as loops over memory, to be compiled: from equations by way of steps to text."""
