//! Three replicas of the real program on one PostgreSQL, each with its own data, which may lag behind. Replicas
//! are killed with SIGKILL and started again, connections are cut in the middle of transactions, and PostgreSQL crashes
//! and comes back, or its standby takes over.

use std::time::{Duration, Instant};

use super::chaos::{World, duration_from};
use crate::support::postgres::Postgres;
use reviewd::hub::StoreLocation;
use reviewd::hub::store::Database;

/// The environment variable that gives PostgreSQL a synchronous standby, which takes over after half of the test's
/// time.
const STANDBY: &str = "REVIEWD_REPLICAS_STANDBY";

#[test]
fn replicas_that_die_and_a_database_that_crashes_lose_nothing_that_was_promised() {
    let Some(mut postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let mut standby = std::env::var_os(STANDBY).map(|_| postgres.standby());
    let mut url = postgres.url("reviewd", "hub");
    if let Some(standby) = &standby {
        url = url.replace("/hub", &format!(",127.0.0.1:{}/hub", standby.port()));
    }
    let location = StoreLocation::Database(Box::new(Database::parse(&url, "reviewd").unwrap()));
    let mut world = World::new(location, ["--store", &url], 3);
    (0..3).for_each(|number| world.boot(number));
    let time = duration_from("REVIEWD_REPLICAS_SECONDS", 20);
    let began = Instant::now();
    let mut cuts = 0;
    let mut crashes = 0;
    while began.elapsed() < time {
        let calm = Duration::from_millis(300 + world.random.below(1_200) as u64);
        world.act_for(calm);
        match world.random.below(8) {
            0 => {
                postgres.crash();
                postgres.start_again();
                crashes += 1;
            }
            1..=3 => {
                let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'reviewd'";
                postgres.query("hub", cut);
                cuts += 1;
            }
            _ => {
                let number = world.random.below(3);
                world.kill(number);
                world.boot(number);
            }
        }
        if began.elapsed() > time / 2
            && let Some(standby) = standby.take()
        {
            postgres.crash();
            standby.promote();
            postgres = standby;
            println!("the standby took over");
        }
    }
    println!("{cuts} cuts of all connections, {crashes} crashes of PostgreSQL");
    world.finish();
}
