# What a request costs in our own code, in instructions: a table for whoever compares two states of the tree.
# limit: 3600 s

need valgrind valgrind
benches/instructions.sh
