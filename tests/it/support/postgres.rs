//! A PostgreSQL server for one test: a cluster in a temporary directory, on a socket there and on a free loopback port.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use super::wait_until;

/// A server; dropping it stops it and removes its data.
pub(crate) struct Postgres {
    binaries: PathBuf,
    directory: TempDir,
    port: u16,
    settings: Vec<String>,
    child: Option<Child>,
}

impl Postgres {
    /// Starts a server; if PostgreSQL is not installed, prints a message and returns `None`.
    ///
    /// # Panics
    /// If it is not installed but `REVIEWD_NEED_POSTGRES` is set, as in continuous integration.
    pub(crate) fn start() -> Option<Postgres> {
        Postgres::start_with(&[])
    }

    /// Starts one with further settings; otherwise as [`Postgres::start`].
    pub(crate) fn start_with(settings: &[&str]) -> Option<Postgres> {
        let Some(binaries) = binaries() else {
            let missing = "no initdb in /usr/lib/postgresql/*/bin (Debian's package `postgresql`)";
            let is_needed = std::env::var_os("REVIEWD_NEED_POSTGRES").is_some();
            assert!(!is_needed, "{missing}");
            println!("SKIPPED: {missing}");
            return None;
        };
        let mut server = Postgres::prepare(binaries);
        server.settings = settings.iter().map(ToString::to_string).collect();
        server.initialize();
        server.start_again();
        server.query(
            "postgres",
            "CREATE ROLE reviewd LOGIN PASSWORD 'secret'; CREATE ROLE guest LOGIN PASSWORD 'secret'",
        );
        Some(server)
    }

    /// Starts a synchronous standby: from now on this server commits only what the standby has, too.
    pub(crate) fn standby(&self) -> Postgres {
        let mut standby = Postgres::prepare(self.binaries.clone());
        let mut command = self.command("pg_basebackup");
        command.arg("-D").arg(standby.data());
        command.arg("-h").arg(self.directory.path());
        command.args(["-p", &self.port.to_string()]);
        command.args("-U admin -R -X stream -c fast --no-sync".split(' '));
        assert_success(&command.output().unwrap(), "pg_basebackup");
        standby.start_again();
        let names = "ALTER SYSTEM SET synchronous_standby_names = '*'";
        self.query("postgres", names);
        self.query("postgres", "SELECT pg_reload_conf()");
        let count = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait_until("the standby keeps up", || {
            self.query("postgres", count) == "1"
        });
        standby
    }

    /// Promotes this standby to the primary.
    pub(crate) fn promote(&self) {
        self.query("postgres", "SELECT pg_promote()");
    }

    fn prepare(binaries: PathBuf) -> Postgres {
        let directory = tempfile::tempdir().unwrap();
        if let Some(user) = user() {
            chown(directory.path(), Some(user), None).unwrap();
        }
        Postgres {
            binaries,
            port: free_port(),
            directory,
            settings: Vec::new(),
            child: None,
        }
    }

    fn initialize(&self) {
        let flags = "--username admin --no-sync --encoding UTF8 --locale C --auth-local trust \
            --auth-host scram-sha-256 --pgdata";
        let mut command = self.command("initdb");
        let made = command.args(flags.split(' ')).arg(self.data()).output();
        assert_success(&made.unwrap(), "initdb");
    }

    /// Starts or restarts the server, and waits until it answers.
    pub(crate) fn start_again(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data());
        command.arg("-k").arg(self.directory.path());
        command.args(["-p", &self.port.to_string()]);
        // Without fsync, because tests kill processes and not the machine.
        let settings = [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "log_min_messages=fatal",
        ];
        let own = self.settings.iter().map(String::as_str);
        for setting in settings.into_iter().chain(own) {
            command.args(["-c", setting]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap());
        wait_until("PostgreSQL answers", || {
            self.try_query("postgres", "SELECT 1").status.success()
        });
    }

    /// Adds a setting for later starts of the server.
    pub(crate) fn set(&mut self, setting: String) {
        self.settings.push(setting);
    }

    /// Stops the server at once, as a crash would, and waits until it has exited.
    pub(crate) fn crash(&mut self) {
        self.end("QUIT");
    }

    /// Shuts the server down cleanly; connections are closed.
    pub(crate) fn stop(&mut self) {
        self.end("INT");
    }

    fn end(&mut self, signal: &str) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let told = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        if !told.is_ok_and(|status| status.success()) {
            let _ended = child.kill();
        }
        let _status = child.wait();
    }

    /// Creates an empty database that belongs to `reviewd`.
    pub(crate) fn database(&self, name: &str) {
        self.query("postgres", &format!("CREATE DATABASE {name} OWNER reviewd"));
    }

    /// Returns the address of a database for `user`, whose password is `secret`.
    pub(crate) fn url(&self, user: &str, database: &str) -> String {
        format!(
            "postgres://{user}:secret@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Runs statements as the administrator, and returns what they print.
    pub(crate) fn query(&self, database: &str, sql: &str) -> String {
        let output = self.try_query(database, sql);
        assert_success(&output, sql);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn try_query(&self, database: &str, sql: &str) -> Output {
        Command::new(self.binaries.join("psql"))
            .env_clear()
            .arg("-h")
            .arg(self.directory.path())
            .args(["-p", &self.port.to_string(), "-U", "admin", "-d", database])
            .args(["-v", "ON_ERROR_STOP=1", "-XqAt", "-c", sql])
            .output()
            .unwrap()
    }

    /// Writes a file that only the server's user may read.
    pub(crate) fn write(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, contents).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if let Some(user) = user() {
            chown(&path, Some(user), None).unwrap();
        }
        path
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Returns a command for a program of PostgreSQL; as root it runs as another user, because PostgreSQL refuses root.
    fn command(&self, program: &str) -> Command {
        let program = self.binaries.join(program);
        let Some(user) = user() else {
            return Command::new(program);
        };
        let mut command = Command::new("setpriv");
        command
            .args([format!("--reuid={user}"), format!("--regid={user}")])
            .arg("--clear-groups")
            .arg(program)
            .current_dir("/");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.crash();
    }
}

/// Returns a port that was free just now; another process is unlikely to take it before the server does.
fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// Returns the programs of the newest installed version.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let installed = versions
        .map(|version| version.path().join("bin"))
        .filter(|binaries| binaries.join("initdb").is_file());
    installed.max_by_key(|binaries| version_of(binaries))
}

/// Returns the numbers of the version of a folder of programs: as text, 9.6 would come after 17.
fn version_of(binaries: &Path) -> Option<Vec<u32>> {
    let numbers = binaries.parent()?.file_name()?.to_str()?.split('.');
    numbers.map(|number| number.parse().ok()).collect()
}

/// The user id of the server if the test runs as root: that of `nobody`.
fn user() -> Option<u32> {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root { Some(65_534) } else { None }
}

fn assert_success(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
}
