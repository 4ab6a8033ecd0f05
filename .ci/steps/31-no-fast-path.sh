# What the fast path answers when it is there, once more without it.
# limit: 900 s

REVIEWD_TEST_NO_FAST_PATH=1 cargo test --quiet --locked --test it -- bodies:: conditional:: cors:: documents:: feeds:: negotiation:: pages:: raw:: reload:: serving:: timeouts::
