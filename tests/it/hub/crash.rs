//! Kills the real program with SIGKILL at random moments, with its store in a state directory.

use std::time::{Duration, Instant};

use super::chaos::{World, duration_from};
use reviewd::hub::StoreLocation;

#[test]
fn kills_at_random_moments_lose_nothing_that_was_promised() {
    let time = duration_from("REVIEWD_CRASH_SECONDS", 20);
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("state");
    let flags = ["--state", state.to_str().unwrap()];
    let mut world = World::new(StoreLocation::Directory(state.clone()), flags, 1);
    let began = Instant::now();
    while began.elapsed() < time {
        world.boot(0);
        let life = Duration::from_millis(200 + world.random.below(1_200) as u64);
        world.act_for(life);
        world.kill(0);
    }
    world.boot(0);
    world.finish();
}
