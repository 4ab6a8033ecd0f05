# What a request costs in our own code, in instructions: a table with which to compare two commits.
# limit: 3600 s

need valgrind valgrind
benches/instructions.sh
