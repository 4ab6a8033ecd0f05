# Instructions of reviewd's own code for each kind of request: a table to compare two commits.
# limit: 3600 s

need valgrind valgrind
benches/instructions.sh
